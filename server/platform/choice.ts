import Type, { type TEnum } from 'typebox';

/**
 * The schema of one value out of a list, with its `type`. JSON Schema does not require the type, but client
 * generators do: without it they treat the value as unknown.
 */
export function choice<const Value extends string | number>(
  values: readonly Value[],
  options: object = {},
): TEnum<Value[]> {
  const type = values.every((value) => typeof value === 'string') ? 'string' : 'integer';
  return Type.Enum([...values], { type, ...options });
}
