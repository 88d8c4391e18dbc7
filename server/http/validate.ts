import { Compile, type Validator } from 'typebox/compile';
import { System } from 'typebox/system';
import type { TLocalizedValidationError } from 'typebox/error';
import type { Static, TSchema } from 'typebox';
import { limits } from '../limits.ts';
import { type ApiError, type FieldError, type FieldErrorCode, validationError } from '../errors.ts';
import { formatMessages, visiblePattern } from './formats.ts';
import { fieldWithin, knownPart, type UnknownFields } from './known-fields.ts';

// More than the known fields of any body can cause, so that our own limit decides what is omitted.
System.Settings.Set({ maxErrors: 100 * limits.fieldErrors });

const compiled = new WeakMap<TSchema, Validator>();

function compile(schema: TSchema): Validator {
  const known = compiled.get(schema) ?? Compile(schema);
  compiled.set(schema, known);
  return known;
}

/**
 * Compiles a schema into a function that returns the typed value, or throws with every invalid field. It compiles on
 * first use, because most processes need only a few schemas.
 */
export function validator<Schema extends TSchema>(schema: Schema): (value: unknown) => Static<Schema> {
  let validation: Validator | undefined;
  return (value) => {
    validation ??= compile(schema);
    if (validation.Check(value)) return value as Static<Schema>;
    throw refusal(validation, schema, value);
  };
}

/**
 * Lists every invalid known field and some of the unknown ones; the cost does not grow with the number of unknown
 * fields.
 */
function refusal(validation: Validator, schema: TSchema, value: unknown): ApiError {
  const unknown: UnknownFields = { names: [], count: 0 };
  const known = knownPart(schema, value, '', unknown);
  // A body with only unknown fields is not empty.
  const errors = validation.Errors(known).filter(({ keyword }) => keyword !== 'minProperties' || unknown.count === 0);
  const problems = fieldErrors(errors);
  const unknownProblems = unknown.names.map((field) => ({ field, ...invalid('is not a field of this request') }));
  const described = [...problems.slice(0, limits.fieldErrors - unknownProblems.length), ...unknownProblems];
  if (described.length === 0) described.push({ field: 'body', ...invalid('is not valid for this request') });
  return validationError(described, unknown.count - unknown.names.length);
}

/** Returns one error per field, the most specific first; the noise of unions is left out. */
function fieldErrors(errors: readonly TLocalizedValidationError[]): FieldError[] {
  const byField = new Map<string, FieldError>();
  // For a value of the wrong type, the list of allowed values is more helpful than the type.
  const placeOf = ({ schemaPath, instancePath }: TLocalizedValidationError): string => `${schemaPath} ${instancePath}`;
  const chosen = new Set(errors.filter(({ keyword }) => keyword === 'enum').map(placeOf));
  const specific = errors.filter((error) => error.keyword !== 'type' || !chosen.has(placeOf(error)));
  for (const error of specific.flatMap(describe)) if (!byField.has(error.field)) byField.set(error.field, error);
  return [...byField.values()];
}

type Describe = (error: TLocalizedValidationError) => { code: FieldErrorCode; message: string } | undefined;

const invalid = (message: string): { code: FieldErrorCode; message: string } => ({ code: 'invalid_value', message });

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

const params = <Key extends string>(error: TLocalizedValidationError): Record<Key, unknown> =>
  error.params as Record<Key, unknown>;

const quantity = (count: unknown, unit: string, units = `${unit}s`): string =>
  `${String(count)} ${count === 1 ? unit : units}`;

const describers: Readonly<Record<string, Describe>> = {
  type: (error) => {
    const type = String(params<'type'>(error).type);
    return type === 'null' ? undefined : invalid(`must be ${typeNames[type] ?? type}`);
  },
  enum: (error) => invalid(`must be one of ${(params<'allowedValues'>(error).allowedValues as string[]).join(', ')}`),
  const: (error) => invalid(`must be ${String(params<'allowedValue'>(error).allowedValue)}`),
  minimum: (error) => invalid(`must be at least ${String(params<'limit'>(error).limit)}`),
  maximum: (error) => invalid(`must be at most ${String(params<'limit'>(error).limit)}`),
  minLength: (error) =>
    invalid(
      params<'limit'>(error).limit === 1
        ? 'must not be empty'
        : `must have at least ${quantity(limitOf(error), 'character')}`,
    ),
  maxLength: (error) => invalid(`must have at most ${quantity(limitOf(error), 'character')}`),
  minItems: (error) => invalid(`must have at least ${quantity(limitOf(error), 'entry', 'entries')}`),
  maxItems: (error) => invalid(`must have at most ${quantity(limitOf(error), 'entry', 'entries')}`),
  minProperties: () => invalid('must contain at least one field'),
  pattern: (error) => {
    const pattern = String(params<'pattern'>(error).pattern);
    const message = pattern === visiblePattern ? 'must not be blank' : `must match ${pattern}`;
    return { code: 'invalid_format', message };
  },
  '~refine': (error) => invalid(error.message),
  format: (error) => {
    const format = String(params<'format'>(error).format);
    const code = format === 'plain-text' ? 'contains_html' : 'invalid_format';
    return { code, message: formatMessages[format] ?? `must be a valid ${format}` };
  },
};

function limitOf(error: TLocalizedValidationError): unknown {
  return params<'limit'>(error).limit;
}

function describe(error: TLocalizedValidationError): FieldError[] {
  const path = fieldPath(error.instancePath);
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((property) => ({
      field: fieldWithin(path, property),
      code: 'required_field',
      message: 'is required',
    }));
  }
  const described = describers[error.keyword]?.(error);
  return described ? [{ field: path || 'body', ...described }] : [];
}

/** `/items/0/quantity` becomes `items[0].quantity`. */
function fieldPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}
