import Type, { type TEnum, type TSchema } from 'typebox';
import type { FieldError } from '../errors.ts';
import { limits } from '../limits.ts';
import { brandNames } from '../platform/card-brands.ts';
import { currencies } from '../platform/currencies.ts';
import { isUuid } from '../platform/ids.ts';
import { formatMessages, visiblePattern } from './formats.ts';
import { choice } from '../platform/choice.ts';

/** Query parameters as data: each knows its schema for the API reference and how to read its text. */

export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

export interface QueryParameter<Value> {
  readonly schema: TSchema;
  readonly description: string;
  /** Whether the name may occur several times (or once with commas). */
  readonly repeatable?: boolean;
  readonly parse: (texts: readonly string[]) => Parsed<Value>;
}

export type QueryParameters = Readonly<Record<string, QueryParameter<unknown>>>;

export type QueryValues<Parameters extends QueryParameters> = {
  readonly [Name in keyof Parameters]?: Parameters[Name] extends QueryParameter<infer Value> ? Value : never;
};

const single =
  <Value>(parse: (text: string) => Parsed<Value>) =>
  (texts: readonly string[]): Parsed<Value> =>
    texts.length === 1 ? parse(texts[0] ?? '') : { problem: 'must be sent only once' };

export function integerParameter(minimum: number, maximum: number, description: string, fallback?: number) {
  return {
    schema: Type.Integer({ minimum, maximum, ...(fallback !== undefined && { default: fallback }) }),
    description,
    parse: single((text): Parsed<number> => {
      const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= minimum && value <= maximum
        ? { value }
        : { problem: `must be a whole number from ${minimum} to ${maximum}` };
    }),
  } satisfies QueryParameter<number>;
}

/** Filters for an amount: `<name>[gt]`, `[gte]`, `[lt]` and `[lte]`, in the smallest unit of the currency. */
export function centsFilters<Name extends string>(name: Name) {
  const bound = (words: string): QueryParameter<number> =>
    integerParameter(0, Number.MAX_SAFE_INTEGER, `${words} this amount, in the smallest unit of the currency.`);
  const filters: Record<string, QueryParameter<number>> = {
    [`${name}[gt]`]: bound('More than'),
    [`${name}[gte]`]: bound('At least'),
    [`${name}[lt]`]: bound('Less than'),
    [`${name}[lte]`]: bound('At most'),
  };
  return filters as Record<`${Name}[${'gt' | 'gte' | 'lt' | 'lte'}]`, QueryParameter<number>>;
}

export function choiceParameter<Value extends string>(values: readonly Value[], description: string, fallback?: Value) {
  return {
    schema: choice(values, fallback === undefined ? {} : { default: fallback }),
    description,
    parse: single((text): Parsed<Value> => {
      const value = values.find((candidate) => candidate === text);
      return value === undefined ? { problem: `must be one of ${values.join(', ')}` } : { value };
    }),
  } satisfies QueryParameter<Value>;
}

export function booleanParameter(description: string, fallback?: boolean) {
  return {
    schema: Type.Boolean(fallback === undefined ? {} : { default: fallback }),
    description,
    parse: single(
      (text): Parsed<boolean> =>
        text === 'true' || text === 'false' ? { value: text === 'true' } : { problem: 'must be true or false' },
    ),
  } satisfies QueryParameter<boolean>;
}

export function textParameter(maxLength: number, description: string, pattern = visiblePattern) {
  return {
    schema: Type.String({ minLength: 1, maxLength, pattern }),
    description,
    parse: single((text): Parsed<string> => {
      if (text.trim() === '') return { problem: 'must not be empty' };
      if (text.length > maxLength) return { problem: `must have at most ${maxLength} characters` };
      return { value: text };
    }),
  } satisfies QueryParameter<string>;
}

export function uuidParameter(description: string) {
  return {
    schema: Type.String({ format: 'uuid' }),
    description,
    parse: single(
      (text): Parsed<string> => (isUuid(text) ? { value: text.toLowerCase() } : { problem: formatMessages.uuid ?? '' }),
    ),
  } satisfies QueryParameter<string>;
}

/** Values may be repeated or separated by commas. */
export function listParameter(check: (text: string) => string | undefined, description: string, items?: TSchema) {
  return {
    schema: Type.Array(items ?? Type.String({ minLength: 1 }), { minItems: 1 }),
    description,
    repeatable: true,
    parse: (texts: readonly string[]): Parsed<string[]> => {
      const values = [...new Set(texts.flatMap((text) => text.split(',')).map((text) => text.trim()))];
      for (const value of values) {
        const problem = check(value);
        if (problem) return { problem };
      }
      return { value: values };
    },
  } satisfies QueryParameter<string[]>;
}

export function oneOf(allowed: readonly string[]): (text: string) => string | undefined {
  return (text) => {
    if (allowed.includes(text)) return undefined;
    return allowed.length === 0 ? 'is not supported by this call' : `must be one of ${allowed.join(', ')}`;
  };
}

export function choicesParameter(values: TEnum<string[]>, what: string) {
  return listParameter(oneOf(values.enum), `One or more ${what}, separated by commas.`, values);
}

export const currenciesParameter = listParameter(
  (text) => (currencies.has(text) ? undefined : formatMessages.currency),
  'One or more currencies, separated by commas.',
  Type.String({ format: 'currency' }),
);

const monthPattern = /^20\d\d-(?:0[1-9]|1[0-2])$/;

export const monthsParameter = (description: string) =>
  listParameter(
    (text) => (monthPattern.test(text) ? undefined : 'must be months, for example 2026-11'),
    description,
    Type.String({ pattern: monthPattern.source }),
  );

export const monthParameter = (description: string) =>
  ({
    schema: Type.String({ pattern: monthPattern.source, examples: ['2026-11'] }),
    description,
    parse: single(
      (text): Parsed<string> =>
        monthPattern.test(text) ? { value: text } : { problem: 'must be a month, for example 2026-11' },
    ),
  }) satisfies QueryParameter<string>;

export const cardBrandsParameter = choicesParameter(choice(brandNames, { title: 'CardBrand' }), 'card brands');

const dateOrTime =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?$/;

/** Returns milliseconds since 1970, with a fraction for more digits; a plain date means its start in UTC. */
export function parseMoment(text: string): number | undefined {
  const match = dateOrTime.exec(text);
  if (!match || Number(text.slice(8, 10)) > daysInMonth(text)) return undefined;
  const ms = Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text);
  const beyondMs = Number(`0.${match[3]?.slice(4) || '0'}`);
  return Number.isNaN(ms) ? undefined : ms + beyondMs;
}

/** Date.parse reads 30 February as 2 March; a date that does not exist must be reported. */
function daysInMonth(text: string): number {
  return new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
}

export function momentParameter(description: string) {
  return {
    schema: Type.String({ pattern: dateOrTime.source, examples: ['2026-02-11', '2026-02-11T09:30:00Z'] }),
    description,
    parse: single((text): Parsed<number> => {
      const ms = parseMoment(text);
      return ms === undefined
        ? { problem: 'must be a date (2026-02-11) or a date and time with zone (2026-02-11T09:30:00Z)' }
        : { value: ms };
    }),
  } satisfies QueryParameter<number>;
}

/** Reads all parameters, and collects every problem and the first few unknown names. */
export function readQuery(
  parameters: QueryParameters,
  query: Readonly<Record<string, unknown>>,
): { values: Record<string, unknown>; problems: FieldError[]; unnamed: number } {
  const values: Record<string, unknown> = {};
  const problems: FieldError[] = [];
  const unknown: string[] = [];
  for (const [name, given] of Object.entries(query)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!parameter) {
      unknown.push(name);
      continue;
    }
    const texts = Array.isArray(given) ? given.map(String) : [String(given)];
    const readable = texts.every((text) => text.isWellFormed() && !text.includes('\0'));
    const result = readable ? parameter.parse(texts) : { problem: 'contains characters that are not allowed' };
    if ('problem' in result) problems.push({ field: name, code: 'invalid_value', message: result.problem });
    else values[name] = result.value;
  }
  for (const name of unknown.slice(0, limits.unknownFields)) {
    const allowed = Object.keys(parameters).join(', ') || 'none';
    const message = `is not a parameter of this call. Allowed parameters: ${allowed}`;
    problems.push({ field: name.slice(0, 100) || '""', code: 'invalid_value', message });
  }
  return { values, problems, unnamed: Math.max(0, unknown.length - limits.unknownFields) };
}
