import Type, { type TEnum } from 'typebox';

/**
 * A value out of a list. With its `type`, which JSON Schema leaves open and generators of clients need: without it they take
 * the value for anything at all.
 */
export function choice<const Value extends string | number>(
  values: readonly Value[],
  options: object = {},
): TEnum<Value[]> {
  const type = values.every((value) => typeof value === 'string') ? 'string' : 'integer';
  return Type.Enum([...values], { type, ...options });
}
