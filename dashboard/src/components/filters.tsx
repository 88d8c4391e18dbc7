import { type FormEvent, lazy, Suspense, useId, useState } from 'react';
import { amountText as decimalText, readAmount } from '../amounts.ts';
import { useNowMs } from '../clock.ts';
import { type Filters, useFilters, useGet, useList } from '../data.ts';
import { dateOnly, money, shortId } from '../format.ts';
import { dayIn, daysOf, isPreset, type Now, presets } from '../list-days.ts';
import { type Filter, filterCurrency, isSet, namesOf } from '../list-filters.ts';
import { useSignedIn } from '../session.ts';
import { lists } from '../texts/lists.ts';
import { common } from '../texts/common.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import type { Picker as LoadedPicker } from './picker.tsx';
import { Popover } from './popover.tsx';

// Loaded when a filter is opened, so that lists are small.
const Calendar = lazy(async () => ({ default: (await import('./calendar.tsx')).Calendar }));
const Picker = lazy(async () => ({ default: (await import('./picker.tsx')).Picker })) as unknown as typeof LoadedPicker;

const fresh = { starting_after: undefined, ending_before: undefined };

type Change = (changes: Readonly<Record<string, string | undefined>>) => void;

/** Removes filters, and returns to the first page. */
export const without = (filters: readonly Filter[]): Record<string, undefined> =>
  Object.fromEntries([...Object.keys(fresh), ...filters.flatMap(namesOf)].map((name) => [name, undefined]));

/** More filters than this are shown on demand, except those with a value. One more takes no more room than the button. */
const shownFirst = 4;

/** One chip for each filter. A chip with a value shows it, and removes it. */
export function FilterChips({ filters }: { filters: readonly Filter[] }) {
  const [address, change] = useFilters();
  const [isWhole, setWhole] = useState(false);
  const folds = filters.length > shownFirst + 1;
  const shown = filters.filter((filter, index) => !folds || isWhole || index < shownFirst || isSet(filter, address));
  return (
    <>
      {shown.map((filter) => (
        <Chip key={filter.kind === 'dates' ? 'dates' : filter.name} filter={filter} address={address} change={change} />
      ))}
      {folds && (
        <Button small kind="quiet" className="shrink-0" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? lists.fewerFilters : lists.moreFilters}
        </Button>
      )}
    </>
  );
}

interface ChipProps<F extends Filter = Filter> {
  readonly filter: F;
  readonly address: Filters;
  readonly change: Change;
}

function Chip({ filter, address, change }: ChipProps) {
  const [open, setOpen] = useState(false);
  const set = isSet(filter, address);
  function commit(changes: Readonly<Record<string, string | undefined>>, close = true): void {
    change({ ...fresh, ...changes });
    if (close) setOpen(false);
  }
  return (
    <span
      className={`inline-flex h-8 shrink-0 items-center rounded-full border text-sm ${set ? 'border-accent-ink bg-accent-soft' : 'border-dashed border-line-strong'}`}
    >
      <Popover
        label={lists.addFilter(filter.label)}
        open={open}
        onOpenChange={setOpen}
        trigger={
          <button type="button" className="flex h-full items-center gap-1.5 rounded-full px-3 whitespace-nowrap">
            {!set && <Icon name="plus" size={12} />}
            <span className={set ? 'text-muted' : ''}>{filter.label}</span>
            {set && (
              <span className="max-w-56 truncate font-medium">
                <ValueText filter={filter} address={address} />
              </span>
            )}
          </button>
        }
      >
        <Suspense>
          <FilterForm filter={filter} address={address} change={commit} />
        </Suspense>
      </Popover>
      {set && (
        <button
          type="button"
          aria-label={lists.clearOne(filter.label)}
          className="-ml-1.5 flex h-full items-center rounded-full pr-2.5 pl-1 text-muted hover:text-ink"
          onClick={() => change(without([filter]))}
        >
          <Icon name="close" size={12} />
        </button>
      )}
    </span>
  );
}

/** The time of the company, and its zone. */
function useListNow(): Now {
  const { company } = useSignedIn();
  return { ms: useNowMs() ?? Date.now(), zone: company.time_zone };
}

function ValueText({ filter, address }: { filter: Filter; address: Filters }) {
  const now = useListNow();
  if (filter.kind === 'dates') return datesText(address, now);
  if (filter.kind === 'amount') return amountText(filter.name, address);
  const value = address[filter.name] ?? '';
  if (filter.kind === 'text') return value;
  if (filter.kind === 'object') return <ObjectName filter={filter} id={value} />;
  const labels = value.split(',').map((one) => filter.choices.find((choice) => choice.value === one)?.label ?? one);
  const [first = '', ...more] = labels;
  return more.length < 2 ? labels.join(', ') : lists.several(first, more.length);
}

function datesText(address: Filters, now: Now): string {
  if (isPreset(address.date)) return lists.presets[address.date];
  const { from, to } = daysOf(address, now);
  if (from && to) return from === to ? dateOnly(from) : lists.range(dateOnly(from), dateOnly(to));
  return from ? lists.since(dateOnly(from)) : lists.until(dateOnly(to ?? ''));
}

function amountText(name: string, address: Filters): string {
  const currency = filterCurrency(address);
  const text = (written: string): string => {
    const { amount } = readAmount(written, currency);
    if (amount === undefined) return written;
    return address.currency === currency ? money(amount, currency) : written;
  };
  const [least, most] = [address[`${name}_from`], address[`${name}_to`]];
  if (least && most) return lists.amountRange(text(least), text(most));
  return least ? lists.atLeast(text(least)) : lists.atMost(text(most ?? ''));
}

type ObjectFilter = Extract<Filter, { kind: 'object' }>;

function ObjectName({ filter, id }: { filter: ObjectFilter; id: string }) {
  const isListed = filter.searchBy === undefined;
  const one = useGet<object>(`${filter.path}/${id}`, {}, { enabled: !isListed });
  const some = useList<{ readonly id: string }>(filter.path, { limit: 100 }, { enabled: isListed });
  const found = isListed ? some.data?.data.find((object) => object.id === id) : one.data;
  return found ? filter.textOf(found) : shortId(id);
}

interface FormProps<F extends Filter> extends ChipProps<F> {
  readonly change: (changes: Readonly<Record<string, string | undefined>>, close?: boolean) => void;
}

function FilterForm({ filter, address, change }: FormProps<Filter>) {
  if (filter.kind === 'dates') return <DatesForm address={address} change={change} />;
  if (filter.kind === 'amount') return <AmountForm filter={filter} address={address} change={change} />;
  if (filter.kind === 'choices') return <ChoicesForm filter={filter} address={address} change={change} />;
  if (filter.kind === 'text') return <TextForm filter={filter} address={address} change={change} />;
  return (
    <Picker<{ id: string } & Parameters<typeof filter.textOf>[0]>
      label={filter.label}
      path={filter.path}
      {...(filter.searchBy ? { searchBy: filter.searchBy } : {})}
      textOf={filter.textOf}
      value={undefined}
      autoFocus
      isFilter
      onChange={(object) => change({ [filter.name]: object?.id })}
    />
  );
}

function ChoicesForm({ filter, address, change }: FormProps<Extract<Filter, { kind: 'choices' }>>) {
  const chosen = (address[filter.name] ?? '').split(',').filter(Boolean);
  const group = useId();
  function toggle(value: string, on: boolean): void {
    if (filter.single) return change({ [filter.name]: value });
    const next = on ? [...chosen, value] : chosen.filter((other) => other !== value);
    change({ [filter.name]: next.join(',') || undefined }, false);
  }
  return (
    <fieldset className="max-h-72 overflow-y-auto">
      <legend className="mb-2 text-sm font-medium">{filter.label}</legend>
      {filter.choices.map(({ value, label }) => (
        <label key={value} className="flex items-center gap-2.5 rounded-[6px] px-1.5 py-1 text-sm hover:bg-sunken">
          <input
            type={filter.single ? 'radio' : 'checkbox'}
            name={group}
            className="size-4"
            checked={chosen.includes(value)}
            onChange={(event) => toggle(value, event.target.checked)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

function TextForm({ filter, address, change }: FormProps<Extract<Filter, { kind: 'text' }>>) {
  const [text, setText] = useState(address[filter.name] ?? '');
  const id = useId();
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        change({ [filter.name]: text.trim() || undefined });
      }}
    >
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {filter.label}
      </label>
      <input
        id={id}
        className="control"
        value={text}
        placeholder={filter.placeholder}
        onChange={(event) => setText(event.target.value)}
      />
      <ApplyButton />
    </form>
  );
}

function AmountForm({ filter, address, change }: FormProps<Extract<Filter, { kind: 'amount' }>>) {
  const names = namesOf(filter);
  const currency = filterCurrency(address);
  const [texts, setTexts] = useState(names.map((name) => address[name] ?? ''));
  const id = useId();
  const problems = texts.map((text) => (text.trim() === '' ? undefined : readAmount(text, currency).problem));
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        if (problems.some(Boolean)) return;
        change(Object.fromEntries(names.map((name, index) => [name, texts[index]?.trim() || undefined])));
      }}
    >
      {[lists.least, lists.most].map((label, index) => (
        <div key={label} className="mb-2">
          <label htmlFor={`${id}-${index}`} className="mb-1 block text-sm font-medium">
            {label}
          </label>
          <input
            id={`${id}-${index}`}
            inputMode="decimal"
            autoComplete="off"
            className="control tabular-nums"
            placeholder={decimalText(0, currency)}
            aria-invalid={problems[index] !== undefined}
            aria-describedby={problems[index] ? `${id}-${index}-problem` : undefined}
            value={texts[index] ?? ''}
            onChange={(event) => setTexts(texts.map((text, place) => (place === index ? event.target.value : text)))}
          />
          {problems[index] && (
            <p id={`${id}-${index}-problem`} className="mt-1 text-sm text-bad">
              {problems[index]}
            </p>
          )}
        </div>
      ))}
      <ApplyButton />
    </form>
  );
}

function DatesForm({ address, change }: Omit<FormProps<Filter>, 'filter'>) {
  const now = useListNow();
  const [days, setDays] = useState(daysOf(address, now));
  const id = useId();
  return (
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        change({ date: undefined, from: days.from || undefined, to: days.to || undefined });
      }}
    >
      <div className="mb-3 grid grid-cols-2 gap-1.5">
        {presets.map((preset) => (
          <button
            key={preset}
            type="button"
            aria-pressed={address.date === preset}
            className="rounded-[6px] border border-line px-2 py-1 text-left text-sm hover:bg-sunken aria-pressed:border-accent-ink aria-pressed:bg-accent-soft"
            onClick={() => change({ date: preset, from: undefined, to: undefined })}
          >
            {lists.presets[preset]}
          </button>
        ))}
      </div>
      <fieldset>
        <legend className="mb-1 text-sm font-medium">{lists.custom}</legend>
        <div className="grid grid-cols-2 gap-2">
          {(['from', 'to'] as const).map((end) => (
            <div key={end}>
              <label htmlFor={`${id}-${end}`} className="block text-xs text-muted">
                {end === 'from' ? common.from : common.until}
              </label>
              <input
                id={`${id}-${end}`}
                type="date"
                className="control typed-date px-2"
                data-empty={!days[end] || undefined}
                value={days[end] ?? ''}
                onChange={(event) => setDays({ ...days, [end]: event.target.value })}
              />
            </div>
          ))}
        </div>
        <div className="mt-2">
          <Suspense fallback={<div className="h-64" />}>
            <Calendar range={days} today={dayIn(now.zone, now.ms)} onChange={setDays} />
          </Suspense>
        </div>
        <p className="mt-1 text-xs text-muted">{lists.daysIn(now.zone)}</p>
      </fieldset>
      <ApplyButton />
    </form>
  );
}

function ApplyButton() {
  return (
    <div className="mt-3 flex justify-end">
      <Button small kind="primary" type="submit">
        {lists.apply}
      </Button>
    </div>
  );
}
