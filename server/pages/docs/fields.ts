import { escaped } from '../../platform/html.ts';
import { type Described, nameOf, notNull, type Parameter, type Schema } from './openapi.ts';
import { inline } from './prose.ts';

/** Shows the fields of a schema, with the fields of nested objects folded. */

export interface Fields {
  readonly described: Described;
  /** The address of an object that has its own section; undefined if it has none. */
  readonly addressOf: (name: string) => string | undefined;
}

/** How deep fields are nested. */
export const foldedMax = 5;

export function parameterList(parameters: readonly Parameter[], fields: Fields): string {
  const items = parameters.map(({ name, required, description, schema }) =>
    field(name, { ...schema, ...(description && { description }) }, required, fields, 0),
  );
  return `<ul class="fields">${items.join('')}</ul>`;
}

export function fieldList(given: Schema, fields: Fields, depth = 0, alwaysThere = false): string {
  const { properties = {}, required = [] } = fields.described.resolve(given);
  const items = Object.entries(properties).map(([name, inner]) =>
    field(name, inner, !alwaysThere && required.includes(name), fields, depth),
  );
  return `<ul class="fields">${items.join('')}</ul>`;
}

function field(name: string, given: Schema, required: boolean, fields: Fields, depth: number): string {
  const { described } = fields;
  const { schema: inner, nullable } = notNull(given, described);
  const schema = described.resolve(inner);
  const description = described.resolve(given).description ?? schema.description;
  const facts = factsOf(schema, described);
  return (
    `<li><p class="field"><code>${escaped(name)}</code> <span class="type">${typeOf(inner, fields)}${nullable ? ' or null' : ''}</span>` +
    `${required ? ' <span class="required">required</span>' : ''}</p>` +
    `${description ? `<p>${inline(description)}</p>` : ''}${facts ? `<p class="facts">${facts}</p>` : ''}` +
    `${nested(inner, fields, depth)}</li>`
  );
}

/** The type as text, with a link if the object has its own section. */
export function typeOf(given: Schema, fields: Fields): string {
  const { described, addressOf } = fields;
  const name = nameOf(given);
  const address = name && addressOf(name);
  if (name && address) return `<a href="${address}">${escaped(name)}</a>`;
  const schema = described.resolve(given);
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(schema.items, fields) : 'values'}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((one) => typeOf(one, fields)))].join(' or ');
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`;
  if (schema.enum) return 'enum';
  const format = { uuid: 'UUID', 'date-time': 'timestamp', uri: 'URL', binary: 'file' }[schema.format ?? ''];
  return format ?? schema.type ?? 'any value';
}

const code = (value: unknown): string =>
  `<code>${escaped(typeof value === 'string' ? value : JSON.stringify(value))}</code>`;

const grouped = (value: number): string => value.toLocaleString('en-US');

function range(least: number | undefined, given: number | undefined, unit: string): string {
  const most = given === Number.MAX_SAFE_INTEGER ? undefined : given;
  if (least !== undefined && most !== undefined) return `${grouped(least)} to ${grouped(most)}${unit}`;
  if (most !== undefined) return `At most ${grouped(most)}${unit}`;
  return least === undefined ? '' : `At least ${grouped(least)}${unit}`;
}

function factsOf(schema: Schema, described: Described): string {
  const list = schema.type === 'array' && schema.items ? described.resolve(schema.items) : schema;
  return [
    list.enum && `One of ${list.enum.map(code).join(', ')}`,
    schema.default !== undefined && `Default: ${code(schema.default)}`,
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength === 1 ? undefined : schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' entries'),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The fields of a nested object, or of the objects in a list, unless they are shown elsewhere. */
function nested(given: Schema, fields: Fields, depth: number): string {
  const { described, addressOf } = fields;
  const schema = described.resolve(given);
  if (schema.type === 'array' && schema.items) {
    return nested(notNull(schema.items, described).schema, fields, depth);
  }
  const name = nameOf(given);
  if ((name && addressOf(name)) || depth >= foldedMax) return '';
  const variants = (schema.anyOf ?? schema.oneOf ?? []).filter((one) => described.resolve(one).properties);
  if (variants.length > 0) return variants.map((one) => nested(one, fields, depth)).join('');
  if (!schema.properties) return '';
  const title = schema.title ?? 'object';
  return `<details><summary>Fields of ${escaped(title)}</summary>${fieldList(given, fields, depth + 1)}</details>`;
}
