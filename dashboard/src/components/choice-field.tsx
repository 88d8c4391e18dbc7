import { useState } from 'react';
import { countries } from '../../../server/platform/countries.ts';
import { currencies } from '../../../server/platform/currencies.ts';
import { common } from '../texts/common.ts';
import { Combobox } from './combobox.tsx';
import type { BoundProps, Choice } from './fields.tsx';

interface SearchSelectProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  readonly name?: string;
  readonly placeholder?: string;
  readonly choices: readonly Choice[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const most = 50;

/** A select for more choices than people want to scroll through. */
export function SearchSelect({ choices, value, onChange, ...rest }: SearchSelectProps) {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const wanted = text.trim().toLowerCase();
  const starts = (choice: Choice): boolean =>
    choice.value.toLowerCase().startsWith(wanted) || choice.label.toLowerCase().startsWith(wanted);
  const matching = choices.filter((choice) => starts(choice) || choice.label.toLowerCase().includes(wanted));
  // What begins with the text comes first: "u" finds USD before AUD.
  const items = [...matching.filter(starts), ...matching.filter((choice) => !starts(choice))].slice(0, most);
  return (
    <Combobox
      {...rest}
      items={items}
      keyOf={(choice) => choice.value}
      textOf={({ label }) => label}
      text={text}
      onText={setText}
      open={open}
      onOpen={setOpen}
      value={choices.find((choice) => choice.value === value)}
      onChange={(choice) => onChange(choice.value)}
    />
  );
}

const often = ['usd', 'eur', 'gbp'];
let currencyChoices: readonly Choice[] | undefined;
let countryChoices: readonly Choice[] | undefined;

/** The currencies used most come first. */
function allCurrencies(): readonly Choice[] {
  if (currencyChoices) return currencyChoices;
  const names = new Intl.DisplayNames('en', { type: 'currency' });
  const codes = [...often, ...[...currencies.keys()].filter((code) => !often.includes(code)).toSorted()];
  currencyChoices = codes.map((value) => {
    const code = value.toUpperCase();
    return { value, label: `${code} – ${names.of(code) ?? code}` };
  });
  return currencyChoices;
}

function allCountries(): readonly Choice[] {
  if (countryChoices) return countryChoices;
  const names = new Intl.DisplayNames('en', { type: 'region' });
  countryChoices = [...countries]
    .map((value) => ({ value, label: names.of(value) ?? value }))
    .toSorted((one, other) => one.label.localeCompare(other.label));
  return countryChoices;
}

export function CurrencyField<Draft extends object>({
  form,
  name,
  path,
  hint,
}: Omit<BoundProps<Draft, string>, 'label'>) {
  return (
    <SearchSelect
      label={common.currency}
      hint={typeof hint === 'string' ? hint : undefined}
      name={name}
      error={form.errorOf(path ?? name)}
      choices={allCurrencies()}
      value={String(form.draft[name])}
      onChange={(value) => form.set(name, value as Draft[typeof name])}
    />
  );
}

export function CountrySelect(props: Omit<SearchSelectProps, 'choices' | 'placeholder'>) {
  const choices = props.value === '' ? allCountries() : [{ value: '', label: common.none }, ...allCountries()];
  return <SearchSelect {...props} choices={choices} placeholder={common.searchCountry} />;
}
