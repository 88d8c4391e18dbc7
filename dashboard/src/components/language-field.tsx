import { languageOf, languages } from '../../../server/customer-texts/languages.ts';
import { type BoundProps, type Choice, SelectField } from './fields.tsx';

/** The languages of pages, emails and receipts. */

let names: Intl.DisplayNames | undefined;

/** `German (Austria)` of `de-AT`. */
export function languageName(locale: string): string {
  names ??= new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard' });
  return names.of(locale) ?? locale;
}

export const languageChoices: readonly Choice[] = languages
  .map((value) => ({ value, label: languageName(value) }))
  .toSorted((one, other) => one.label.localeCompare(other.label));

interface LanguageFieldProps<Draft extends object> extends BoundProps<Draft, string> {
  /** What no language means. */
  readonly none: string;
}

/** A language that has a country, which only the API sets, stays a choice. */
export function LanguageField<Draft extends object>({ none, ...props }: LanguageFieldProps<Draft>) {
  const current = String(props.form.draft[props.name]);
  const isListed = current === '' || languageChoices.some(({ value }) => value === current);
  const own = isListed || !languageOf(current) ? [] : [{ value: current, label: languageName(current) }];
  return <SelectField {...props} choices={[{ value: '', label: none }, ...own, ...languageChoices]} />;
}
