import { lazy, Suspense, useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { useNowMs } from '../../clock.ts';
import { Select } from '../../components/fields.tsx';
import { Icon } from '../../components/icons.tsx';
import { Popover } from '../../components/popover.tsx';
import { useFilters } from '../../data.ts';
import { dayIn } from '../../list-days.ts';
import { useSignedIn } from '../../session.ts';
import { home } from '../../texts/home.ts';
import type { Statistics } from '../../types.ts';
import { rangeText } from './metrics.ts';

const Calendar = lazy(async () => ({ default: (await import('../../components/calendar.tsx')).Calendar }));

const choices = Object.entries(home.ranges);

/** The period, the interval, the comparison and the currency. All are in the address. */
export function Controls({ statistics }: { statistics: Statistics | undefined }) {
  const [filters, change] = useFilters();
  const compares = filters.compare !== 'off';
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:gap-1">
      <RangePicker statistics={statistics} />
      {statistics && statistics.intervals.length > 1 && (
        <Select
          aria-label={home.interval}
          className="w-auto!"
          choices={statistics.intervals.map((value) => ({ value, label: home.intervals[value] }))}
          value={statistics.interval}
          onChange={(event) => change({ interval: event.target.value })}
        />
      )}
      {statistics && statistics.currencies.length > 1 && (
        <Select
          aria-label={home.currency}
          className="w-auto!"
          choices={statistics.currencies.map((value) => ({ value, label: value.toUpperCase() }))}
          value={statistics.currency ?? ''}
          onChange={(event) => change({ currency: event.target.value })}
        />
      )}
      <Button
        aria-pressed={compares}
        icon={compares ? 'check' : 'plus'}
        onClick={() => change({ compare: compares ? 'off' : undefined })}
      >
        {home.compare}
      </Button>
    </div>
  );
}

function RangePicker({ statistics }: { statistics: Statistics | undefined }) {
  const [filters, change] = useFilters();
  const [isOpen, setOpen] = useState(false);
  const isCustom = filters.from !== undefined || filters.to !== undefined;
  const range = filters.range ?? '30d';
  const name = home.ranges[range as keyof typeof home.ranges] ?? home.custom;
  const pick = (changes: Record<string, string | undefined>): void => {
    setOpen(false);
    change({ interval: undefined, range: undefined, from: undefined, to: undefined, ...changes });
  };
  return (
    <Popover
      open={isOpen}
      onOpenChange={setOpen}
      align="end"
      label={home.period}
      className="flex max-sm:flex-col"
      trigger={
        <Button>
          {isCustom && statistics ? rangeText(statistics.from, statistics.to) : name}
          <Icon name="down" size={14} />
        </Button>
      }
    >
      <ul className="min-w-44 p-1.5">
        {choices.map(([value, label]) => (
          <li key={value}>
            <button
              type="button"
              className="menu-item w-full justify-between"
              aria-pressed={!isCustom && range === value}
              onClick={() => pick({ range: value === '30d' ? undefined : value })}
            >
              {label}
              {!isCustom && range === value && <Icon name="check" size={14} />}
            </button>
          </li>
        ))}
      </ul>
      <CustomRange from={statistics?.from ?? ''} to={statistics?.to ?? ''} apply={pick} />
    </Popover>
  );
}

function CustomRange(props: { from: string; to: string; apply: (range: { from: string; to: string }) => void }) {
  const [from, setFrom] = useState(props.from);
  const [to, setTo] = useState(props.to);
  const id = useId();
  const { company } = useSignedIn();
  const nowMs = useNowMs();
  const isWrong = from !== '' && to !== '' && from > to;
  return (
    <form
      className="flex flex-col gap-3 border-line p-4 max-sm:border-t sm:border-l"
      onSubmit={(event) => {
        event.preventDefault();
        if (from && to && !isWrong) props.apply({ from, to });
      }}
    >
      <p className="text-sm font-semibold">{home.custom}</p>
      <div className="grid grid-cols-2 gap-2">
        <div>
          <label htmlFor={`${id}-from`} className="mb-1 block text-sm text-muted">
            {home.firstDay}
          </label>
          <input
            id={`${id}-from`}
            type="date"
            required
            className="control typed-date"
            data-empty={from === '' || undefined}
            value={from}
            onChange={(event) => setFrom(event.target.value)}
          />
        </div>
        <div>
          <label htmlFor={`${id}-to`} className="mb-1 block text-sm text-muted">
            {home.lastDay}
          </label>
          <input
            id={`${id}-to`}
            type="date"
            required
            className="control typed-date"
            data-empty={to === '' || undefined}
            value={to}
            onChange={(event) => setTo(event.target.value)}
          />
        </div>
      </div>
      <Suspense fallback={<div className="h-64" />}>
        <Calendar
          range={{ from, to: to || undefined }}
          today={dayIn(company.time_zone, nowMs ?? Date.now())}
          onChange={(range) => {
            setFrom(range.from ?? '');
            setTo(range.to ?? '');
          }}
        />
      </Suspense>
      {isWrong && (
        <p role="alert" className="text-sm text-bad">
          {home.rangeWrong}
        </p>
      )}
      <Button type="submit" kind="primary" small>
        {home.apply}
      </Button>
    </form>
  );
}
