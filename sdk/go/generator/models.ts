import { answered, eventTypes, isEnum, isPrinted, sent, withoutNull } from '../../generator/client.ts';
import { operations, referenceOf, type Schema, schemaNamed, schemas } from '../../generator/document.ts';
import { comment, goName, typeName } from './names.ts';

/** Schemas as Go types. Fields that can be null or absent are pointers in responses, and Opt in requests. */

type Place = 'answer' | 'request';

/** Hand-written, because it is a number or a text. */
const writtenByHand = new Set(['AnchorDay', 'ApiVersion']);
const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'int64',
  number: 'float64',
  boolean: 'bool',
};

const isObject = (name: string): boolean => schemaNamed(name).properties !== undefined;
const inEvents = new Set(eventTypes.map(({ object }) => object));
const isAnswered = (name: string): boolean => answered.has(name) || inEvents.has(name);

/** A schema of requests and responses is two types in Go. */
export const requestName = (name: string): string => typeName(name) + (isAnswered(name) ? 'Params' : '');

export function typeOf(schema: Schema, place: Place): string {
  const name = referenceOf(schema);
  if (name) return namedType(name, place);
  if (schema.anyOf) return unionType(schema, place);
  if (schema.items) return `[]${typeOf(schema.items, place)}`;
  if (schema.patternProperties) return `map[string]${typeOf(Object.values(schema.patternProperties)[0] ?? {}, place)}`;
  if (schema.properties || schema.type === 'object') return 'map[string]any';
  if (schema.format === 'date-time') return 'time.Time';
  if (schema.format === 'date') return 'Date';
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  const [value] = values;
  const kind =
    schema.type ??
    (value === undefined ? undefined : ({ number: 'integer' }[typeof value as 'number'] ?? typeof value));
  return plainTypes[kind ?? ''] ?? 'any';
}

function unionType(schema: Schema, place: Place): string {
  const { schema: plain } = withoutNull(schema);
  if (!plain.anyOf) return typeOf(plain, place);
  // Of a summary and the complete object, the complete one is first. The fields that the summary lacks are empty.
  const [first = {}] = plain.anyOf;
  return plain.anyOf.every(referenceOf) ? typeOf(first, place) : 'any';
}

function namedType(name: string, place: Place): string {
  const schema = schemaNamed(name);
  if (name === 'Event' || isEnum(schema) || writtenByHand.has(name)) return typeName(name);
  if (schema.anyOf?.every(referenceOf)) return typeName(name);
  if (!schema.properties) return typeOf(schema, place);
  return place === 'answer' ? typeName(name) : requestName(name);
}

export const canBeNil = (type: string): boolean => /^(\[\]|map\[|any$)/.test(type);

function answerField(key: string, schema: Schema, required: boolean): string {
  const { schema: plain, nullable } = withoutNull(schema);
  const type = key.endsWith('secret') ? 'Secret' : typeOf(plain, 'answer');
  const pointer = (nullable || !required) && !canBeNil(type) ? '*' : '';
  return `${comment(schema.description, '\t')}\t${goName(key)} ${pointer}${type} \`json:"${key}"\`\n`;
}

function requestField(key: string, schema: Schema, required: boolean): string {
  const { schema: plain, nullable } = withoutNull(schema);
  const type = typeOf(plain, 'request');
  const plainField = (required && !nullable) || (canBeNil(type) && !nullable);
  const kept = required ? ',required' : '';
  return `${comment(schema.description, '\t')}\t${goName(key)} ${plainField ? type : `Opt[${type}]`} \`svc:"${key}${kept}"\`\n`;
}

function structOf(name: string, schema: Schema, field: typeof answerField): string {
  const fields = Object.entries(schema.properties ?? {}).map(([key, one]) =>
    field(key, one, schema.required?.includes(key) ?? false),
  );
  return `${comment(`${name} ${schema.description ? `is: ${schema.description}` : 'is an object of the API.'}`)}type ${name} struct {\n${fields.join('')}}\n`;
}

/** The name of one value: `OrderStatusFailed`. */
export const enumConstant = (name: string, value: string | number): string =>
  name === 'EventType' ? `Event${goName(String(value))}` : typeName(name) + goName(String(value).replace('*', 'All'));

function enumOf(name: string): string {
  const { enum: values = [], description } = schemaNamed(name);
  const base = values.every((value) => typeof value === 'number') ? 'int64' : 'string';
  const constants = values.map(
    (value) => `\t${enumConstant(name, value)} ${typeName(name)} = ${JSON.stringify(value)}\n`,
  );
  const about = description ? ` ${description}` : '';
  return `// ${typeName(name)} can have values that this version does not know.${about}\ntype ${typeName(name)} ${base}\n\n// Values of ${typeName(name)}.\nconst (\n${constants.join('')})\n`;
}

/** A union of objects has the fields of all of them. */
function mergedOf(name: string): string {
  const members = (schemaNamed(name).anyOf ?? []).map((one) => schemaNamed(referenceOf(one) ?? ''));
  const properties = Object.assign({}, ...members.toReversed().map((one) => one.properties)) as Record<string, Schema>;
  const required = Object.keys(properties).filter((key) => members.every((one) => one.required?.includes(key)));
  return structOf(
    typeName(name),
    { properties, required, description: 'one of several objects; fields that it lacks are nil.' },
    answerField,
  );
}

const plainLists = operations
  .filter(({ item }) => item === undefined)
  .map(({ answer }) => referenceOf(answer) ?? '')
  .filter((name) => name.endsWith('List'));

export function modelsFile(): string {
  const names = Object.keys(schemas);
  const shown = names.filter((name) => (isPrinted(name) && isAnswered(name)) || plainLists.includes(name));
  const enums = names.filter(
    (name) => (isPrinted(name) || name === 'EventType') && isEnum(schemaNamed(name)) && !writtenByHand.has(name),
  );
  const unions = shown.filter((name) => schemaNamed(name).anyOf?.every(referenceOf));
  const merged = new Set(
    unions.flatMap((name) => (schemaNamed(name).anyOf ?? []).map((one) => referenceOf(one) ?? '')),
  );
  const objects = shown.filter((name) => isObject(name) && !merged.has(name));
  const events = eventTypes.map(
    ({ type, object }) => `\tcase ${JSON.stringify(type)}:\n\t\treturn new(${typeName(object)})\n`,
  );
  return [
    'package svc\n\nimport "time"\n',
    ...enums.map(enumOf),
    ...objects.map((name) => structOf(typeName(name), schemaNamed(name), answerField)),
    ...unions.map(mergedOf),
    ...names
      .filter((name) => sent.has(name) && isObject(name))
      .map((name) => structOf(requestName(name), schemaNamed(name), requestField)),
    `// newEventObject returns an empty object for events of this type, and nil for types that this version does not know.\nfunc newEventObject(kind EventType) any {\n\tswitch kind {\n${events.join('')}\t}\n\treturn nil\n}\n`,
  ].join('\n');
}
