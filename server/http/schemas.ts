import Type, { type Static, type TArrayOptions, type TSchema, type TString } from 'typebox';
import { apiErrorCodes, errorTypes, fieldErrorCodes, invalidField } from '../errors.ts';
import { limits } from '../limits.ts';
import { choice } from '../platform/choice.ts';

/** Wire schemas that several features share; their formats are in formats.ts. */

interface Options {
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

export { freeText, line, name, plainText, typedEmail, withoutLink } from './typed-text.ts';

/** The schema that the API reference shows, if the service accepts more than it promises. */
export const documentedAs = 'x-documented-as';

/** Adds `uniqueItems` to the API reference. */
export const documentedUnique = 'x-documented-unique';

/** For responses: the field is null if it is not set. */
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/**
 * For requests: the field is only descriptive, and null means that it is not set or, in a PATCH, clears it. Every
 * other field rejects null, since a field that is empty by mistake must not decide what is charged.
 * tests/nulls.test.ts lists them all.
 */
export const clearable = <Schema extends TSchema>(schema: Schema) => {
  const { title, description } = schema as { title?: string; description?: string };
  return Type.Union([schema, Type.Null()], title === undefined && description !== undefined ? { description } : {});
};

function withDefault<Schema extends TSchema>(schema: Schema, fallback: Static<Schema>): Schema {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema;
  return Object.assign(copy, { default: fallback });
}

/** An optional field with its default. Not for a PATCH, where an omitted field stays unchanged. */
export const defaulting = <Schema extends TSchema>(schema: Schema, fallback: Static<Schema>) =>
  Type.Optional(withDefault(schema, fallback));

export const uuid = (options: Options = {}) => Type.String({ format: 'uuid', ...options });

/** International, in any of the usual notations. */
export const phone = (options: Options = {}) =>
  Type.String({ format: 'phone', maxLength: limits.phoneLength, examples: ['+15551234567'], ...options });

export const timestamp = (options: Options = {}) =>
  Type.String({ format: 'date-time', examples: ['2026-02-11T09:30:00.000Z'], ...options });

function metadataProblem(value: object): string | undefined {
  const keys = Object.keys(value);
  if (keys.length > limits.metadataKeys) return `must have at most ${limits.metadataKeys} keys`;
  const long = keys.find((key) => key.length === 0 || [...key].length > limits.metadataKeyLength);
  if (long !== undefined) return `must have keys of 1 to ${limits.metadataKeyLength} characters`;
  if (nestingOf(value) > limits.metadataDepth) return `must not be nested deeper than ${limits.metadataDepth} levels`;
  if (Buffer.byteLength(JSON.stringify(value)) > limits.metadataBytes) {
    return `must not be larger than ${limits.metadataBytes / 1024} KiB in total`;
  }
  return undefined;
}

function nestingOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, nestingOf(inner));
  return deepest + 1;
}

export type Metadata = Record<string, unknown>;

const metadataText =
  `Your own data as a JSON object: at most ${limits.metadataKeys} keys of up to ${limits.metadataKeyLength} ` +
  `characters, nested at most ${limits.metadataDepth} levels, ${limits.metadataBytes / 1024} KiB in total.`;

const anyObject = (title: string, description: string) =>
  Type.Unsafe<Metadata>({
    title,
    type: 'object',
    additionalProperties: true,
    description,
    examples: [{ crm_id: 'c-1001' }],
  });

export const metadata = anyObject('Metadata', metadataText);

/** The language of a customer: one of those that the pages have, with or without a country. */
export const locale = (description: string) =>
  Type.String({ format: 'locale', maxLength: 6, description, examples: ['de-AT'] });

/**
 * Empty if omitted. The API reference has no default for it, because generators cannot create one for a named object.
 */
export const metadataInput = clearable(
  Type.Refine(
    anyObject('Metadata', metadataText),
    (value) => metadataProblem(value as object) === undefined,
    (value) => metadataProblem(value as object) ?? '',
  ),
);

export const metadataPatch = clearable(
  anyObject(
    'MetadataPatch',
    `${metadataText} Updates are merged by key. To remove a key, set it to null. To clear the metadata, send null.`,
  ),
);

/** Merges a PATCH; only the merged result can be too large. */
export function mergeMetadata(current: Metadata, patch: Metadata | null | undefined): Metadata {
  if (patch === undefined) return current;
  const merged = patch === null ? {} : { ...current, ...patch };
  const kept = Object.fromEntries(Object.entries(merged).filter(([key]) => patch?.[key] !== null));
  const problem = metadataProblem(kept);
  if (problem !== undefined) throw invalidField('metadata', problem);
  return kept;
}

/** Does not use the keyword `uniqueItems`, whose check takes seconds for thousands of entries. */
export const uniqueStrings = (items: TString, options: TArrayOptions) =>
  Type.Refine(
    Type.Array(items, { ...options, [documentedUnique]: true }),
    (entries) => new Set(entries).size === entries.length,
    () => 'must not contain duplicates',
  );

export const deletion = (what: string) =>
  Type.Object(
    {
      id: uuid(),
      deleted: Type.Literal(true),
      message: Type.String({ examples: [`The ${what} was deleted.`] }),
    },
    { title: `Deleted${what.replace(/(^| )(.)/g, (_, __, letter: string) => letter.toUpperCase())}` },
  );

export type Deletion = Static<ReturnType<typeof deletion>>;

export const errorSchema = Type.Object(
  {
    error: Type.Object(
      {
        type: choice(errorTypes, { title: 'ErrorType' }),
        code: choice(apiErrorCodes, { title: 'ErrorCode', description: 'Stable and machine-readable.' }),
        message: Type.String({ description: 'For people; may change.' }),
        param: nullable(Type.String({ description: 'The most relevant field.' })),
        request_id: Type.String({ description: 'Include it when you ask for support.' }),
        field_errors: Type.Array(
          Type.Object(
            {
              field: Type.String({ examples: ['items[0].quantity'] }),
              code: choice(fieldErrorCodes, { title: 'FieldErrorCode' }),
              message: Type.String(),
            },
            { title: 'FieldError' },
          ),
        ),
        doc_url: Type.Optional(
          Type.String({ description: 'The paragraph that explains the code, in the guides of this installation.' }),
        ),
      },
      { title: 'ErrorDetails' },
    ),
  },
  { title: 'Error' },
);
