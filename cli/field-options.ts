import type { Field } from './operations.ts';

/** The options of a command that are fields of the API: `--first-name`, `--card.number`, `--items.0.quantity`, `--metadata.crm_id`. */

export interface FieldOption {
  readonly field: Field;
  /** Where the value belongs in the body. */
  readonly path: readonly string[];
}

/** As people type it: `shipping_address.line1` is `--shipping-address.line1`, and `items.*.quantity` is `--items.0.quantity`. */
export const optionOf = ({ name }: Field): string => `--${name.replaceAll('_', '-').replaceAll('*', '0')}`;

/** The field that an option names. Hyphens and underscores are the same. The keys of free objects, such as metadata, stay as they are. */
export function fieldOption(option: string, fields: readonly Field[]): FieldOption | undefined {
  const given = option.split('.');
  if (given.includes('')) return undefined;
  for (const field of fields) {
    const names = field.name.split('.');
    const isDeeper = given.length > names.length;
    if (given.length < names.length || (isDeeper && field.kind !== 'object')) continue;
    if (!names.every((name, at) => isNamed(name, given[at] ?? ''))) continue;
    return { field, path: given.map((word, at) => ((names[at] ?? '*') === '*' ? word : (names[at] as string))) };
  }
  return undefined;
}

const isNamed = (name: string, given: string): boolean =>
  name === '*' ? /^\d{1,3}$/.test(given) : name === given.replaceAll('-', '_');

/** The names of options in the arguments, whether they are known or not. */
export const optionNames = (args: readonly string[]): string[] =>
  args.flatMap((word) => /^--([^=]+)/.exec(word)?.[1] ?? []);
