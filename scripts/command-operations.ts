import type { Field, ValueKind, Operation } from '../cli/operations.ts';
import { idNames, queryParameters, snakeCase, withoutNull } from '../sdk/generator/client.ts';
import { type ApiOperation, operations, referenceOf, type Schema, schemaNamed } from '../sdk/generator/document.ts';
import { methodNames } from '../sdk/generator/names.ts';

/** Writes `cli/operations.json`: the operations of the OpenAPI document, as `svc` offers them. */

const hyphened = (name: string): string => snakeCase(name).replaceAll('_', '-');

const nameOf = ({ id }: ApiOperation): string => (methodNames[id] ?? '').split('.').map(hyphened).join(' ');

const resolved = (schema: Schema): Schema => {
  const name = referenceOf(schema);
  return name ? { ...schemaNamed(name), ...schema } : schema;
};

/** The first sentence, without the marks of code. */
function sentence(text: string | undefined): string | undefined {
  return text?.replaceAll('`', '').split(/\.\s/)[0]?.replace(/\.$/, '');
}

function kindOf({ type, items, properties, anyOf }: Schema): ValueKind {
  if (anyOf) return 'json';
  if (type === 'array') return items && resolved(items).type === 'object' ? 'objects' : kindOf(resolved(items ?? {}));
  if (type === 'object') return properties ? 'json' : 'object';
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'text';
}

const valuesOf = (schema: Schema): readonly string[] | undefined => {
  const named = schema.type === 'array' && schema.items ? resolved(schema.items) : schema;
  return named.type === 'boolean' ? ['true', 'false'] : named.enum?.map(String);
};

function fieldOf(name: string, given: Schema, required: boolean): Field {
  const { schema: inner, nullable } = withoutNull(resolved(given));
  const schema = resolved(inner);
  const describe = sentence(given.description ?? schema.description);
  const values = valuesOf(schema);
  return {
    name,
    kind: kindOf(schema),
    ...(schema.type === 'array' && kindOf(schema) !== 'objects' && { several: true }),
    ...(required && { required }),
    ...(nullable && { nullable }),
    ...(describe && { describe }),
    ...(values && { values }),
  };
}

/** A field, and those in it. */
function fieldsOf(name: string, given: Schema, required: boolean): Field[] {
  const schema = resolved(withoutNull(resolved(given)).schema);
  const items = schema.type === 'array' && schema.items ? resolved(schema.items) : undefined;
  const [inner, path] = items?.properties ? [items, `${name}.*`] : [schema, name];
  return [fieldOf(name, given, required), ...propertiesOf(inner, `${path}.`)];
}

function propertiesOf({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    fieldsOf(`${prefix}${name}`, schema, required.includes(name)),
  );
}

function queryFields(operation: ApiOperation): Field[] {
  return queryParameters(operation).flatMap(({ name, schema, description, bounds }) => {
    const field = fieldOf(name, { ...schema, ...(description && { description }) }, false);
    if (bounds.length > 0) {
      return bounds.map((bound) => ({ ...field, name: `${name}.${bound}`, sentAs: `${name}[${bound}]` }));
    }
    return name === 'fields' ? { ...field, sentAs: `fields[${operation.fieldsOf}]` } : field;
  });
}

/** Fields that tell objects apart, from left to right. */
const preferredColumns = [
  'id',
  'order_number',
  'type',
  'name',
  'code',
  'method',
  'path',
  'email',
  'first_name',
  'last_name',
  'url',
  'mode',
  'status',
  'active',
  'card.brand',
  'card.last4',
  'brand',
  'last4',
  'total',
  'customer_id',
  'amount',
  'plan_id',
  'cycle',
  'date',
  'event_type',
  'delivery_status',
  'created_at',
];
const columnsMax = 6;

function columnsOf({ answer }: ApiOperation): string[] | undefined {
  const name = referenceOf(answer);
  const data = name ? schemaNamed(name).properties?.data : undefined;
  if (data?.type !== 'array') return undefined;
  const item = resolved(data.items ?? {});
  const [first = item] = item.oneOf ?? [];
  const found = preferredColumns.filter((column) => hasProperty(resolved(first), column.split('.')));
  return found.length > columnsMax ? [...found.slice(0, columnsMax - 1), ...found.slice(-1)] : found;
}

function hasProperty(schema: Schema, [name = '', ...inner]: readonly string[]): boolean {
  const found = schema.properties?.[name];
  return (
    found !== undefined && (inner.length === 0 || hasProperty(resolved(withoutNull(resolved(found)).schema), inner))
  );
}

function uploadFields({ upload }: ApiOperation): Field[] {
  return upload ? [{ name: 'file', kind: 'file', required: true, describe: 'The file to upload' }] : [];
}

function commandOf(operation: ApiOperation): Operation {
  const { method, path, summary, keyed, item, body, upload } = operation;
  const sends = upload ? 'file' : method === 'GET' ? 'query' : 'body';
  const columns = columnsOf(operation);
  return {
    name: nameOf(operation),
    method: method as Operation['method'],
    path,
    ids: idNames(operation).map((name) => snakeCase(name).toUpperCase()),
    summary: summary.replace(/\.$/, ''),
    isKeyed: keyed,
    isPaged: item !== undefined,
    sends,
    fields:
      sends === 'query' ? queryFields(operation) : [...uploadFields(operation), ...propertiesOf(resolved(body ?? {}))],
    ...(columns && { columns }),
  };
}

/** Without operations that never succeed. */
export const commandOperations = operations.filter(({ answer }) => answer !== undefined).map(commandOf);

export const operationsFile = (): string =>
  `[\n${commandOperations.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`;
