import { countries } from './countries.ts';

/** Tax IDs of companies in the form of their country. Whether a number is in use is not asked. */

/** By the letters with which they begin. Greece is EL, Northern Ireland XI. */
const forms: Readonly<Record<string, RegExp>> = {
  AT: /^ATU\d{8}$/,
  BE: /^BE[01]\d{9}$/,
  BG: /^BG\d{9,10}$/,
  CH: /^CHE\d{9}(MWST|TVA|IVA)?$/,
  CY: /^CY\d{8}[A-Z]$/,
  CZ: /^CZ\d{8,10}$/,
  DE: /^DE\d{9}$/,
  DK: /^DK\d{8}$/,
  EE: /^EE\d{9}$/,
  EL: /^EL\d{9}$/,
  ES: /^ES(\d{8}[A-Z]|[A-Z]\d{7}[A-Z0-9])$/,
  FI: /^FI\d{8}$/,
  FR: /^FR[A-HJ-NP-Z0-9]{2}\d{9}$/,
  GB: /^GB(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/,
  // Its numbers begin with EL.
  GR: /^$/,
  HR: /^HR\d{11}$/,
  HU: /^HU\d{8}$/,
  IE: /^IE(\d{7}[A-W][A-I]?|\d[A-Z]\d{5}[A-W])$/,
  IT: /^IT\d{11}$/,
  LT: /^LT(\d{9}|\d{12})$/,
  LU: /^LU\d{8}$/,
  LV: /^LV\d{11}$/,
  MT: /^MT\d{8}$/,
  NL: /^NL\d{9}B\d{2}$/,
  NO: /^NO\d{9}(MVA)?$/,
  PL: /^PL\d{10}$/,
  PT: /^PT\d{9}$/,
  RO: /^RO\d{2,10}$/,
  SE: /^SE\d{12}$/,
  SI: /^SI\d{8}$/,
  SK: /^SK\d{10}$/,
  XI: /^XI(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/,
};

/** Of any country: letters and digits in groups. A dot or a slash stands before a digit only, so that no text is a web address. */
export const taxIdPattern = '^[A-Za-z0-9](?:[ -]?[A-Za-z0-9]|[./][0-9])*$';
const anyForm = new RegExp(taxIdPattern);

const compact = (text: string): string => text.toUpperCase().replaceAll(/[ ./-]/g, '');
const formOf = (number: string): RegExp | undefined => forms[number.slice(0, 2)];

/**
 * Two letters and a digit are a country with a form, so the number must have it. Elsewhere the third is also a letter in numbers of
 * people and of other countries, for example in Mexico and Italy.
 */
export function isTaxId(text: string): boolean {
  const number = compact(text);
  if (!anyForm.test(text) || !/\d.*\d/.test(number)) return false;
  return !/^[A-Z]{2}\d/.test(number) || (formOf(number)?.test(number) ?? true);
}

/** As authorities write it, if the country has a form; otherwise as it was given. */
export function taxIdOf(text: string): string {
  const number = compact(text);
  return formOf(number)?.test(number) ? number : text;
}

/**
 * The number for VAT, which begins with its country. Undefined: another number of the tax office, or one with words before it, for
 * example "USt-IdNr.", which begins with the letters of a country too.
 */
export function vatIdOf(text: string): string | undefined {
  const number = compact(text);
  const isVatId =
    formOf(number)?.test(number) ?? (/^[A-Z]{2}\d[A-Z0-9]+$/.test(number) && countries.has(number.slice(0, 2)));
  return isVatId ? number : undefined;
}
