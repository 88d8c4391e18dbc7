import { answered, eventTypes, isEnum, isPrinted, sent, withoutNull } from '../../generator/client.ts';
import { operations, referenceOf, type Schema, schemaNamed, schemas } from '../../generator/document.ts';

/** The objects of responses as classes, those of requests as typed dictionaries. */

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : value === true
      ? 'True'
      : value === false
        ? 'False'
        : String(value);
const literals = (values: readonly unknown[]): string => `Literal[${values.map(literal).join(', ')}]`;

const plainTypes: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

type Place = 'answer' | 'request';

/** Values of an enum that are new are texts, so a response can have any text. */
export function typeOf(schema: Schema, place: Place): string {
  const name = referenceOf(schema);
  if (name) return namedType(name, place);
  if (schema.const !== undefined) return literals([schema.const]);
  if (schema.enum) return place === 'answer' ? `${literals(schema.enum)} | str` : literals(schema.enum);
  if (schema.anyOf) return [...new Set(schema.anyOf.map((one) => typeOf(one, place)))].join(' | ');
  if (schema.items) return `${place === 'answer' ? 'List' : 'Sequence'}[${typeOf(schema.items, place)}]`;
  if (schema.patternProperties) {
    const [value = {}] = Object.values(schema.patternProperties);
    return `${place === 'answer' ? 'Dict' : 'Mapping'}[str, ${typeOf(value, place)}]`;
  }
  if (schema.properties || schema.type === 'object') return place === 'answer' ? 'Dict[str, Any]' : 'Mapping[str, Any]';
  const time = { 'date-time': 'datetime', date: 'date' }[schema.format ?? ''];
  if (time) return place === 'answer' ? time : `${time} | str`;
  return plainTypes[schema.type ?? ''] ?? 'Any';
}

function namedType(name: string, place: Place): string {
  const schema = schemaNamed(name);
  if (name === 'Event') return 'Event';
  if (isEnum(schema)) {
    const isText = schema.enum?.every((value) => typeof value === 'string');
    return place === 'answer' ? `${name} | ${isText ? 'str' : 'int'}` : `models.${name}`;
  }
  if (!schema.properties) return typeOf(schema, place);
  return place === 'answer' ? name : `params.${name}`;
}

/** The function that converts JSON, or undefined if the value stays as it is. */
export function converterOf(schema: Schema): string | undefined {
  const { schema: plain } = withoutNull(schema);
  const name = referenceOf(plain);
  if (name === 'Event') return 'event_of';
  if (name) return schemaNamed(name).properties ? `${name}.of` : converterOf(schemaNamed(name));
  if (plain.anyOf) {
    const names = plain.anyOf.map(referenceOf).filter((one) => one !== undefined);
    return names.length === plain.anyOf.length ? `one_of(${names.map(choiceOf).join(', ')})` : undefined;
  }
  if (plain.items) return wrapped('list_of', plain.items);
  if (plain.patternProperties) return wrapped('map_of', Object.values(plain.patternProperties)[0] ?? {});
  return { 'date-time': 'time_of', date: 'date_of' }[plain.format ?? ''];
}

function wrapped(around: string, inner: Schema): string | undefined {
  const converter = converterOf(inner);
  return converter && `${around}(${converter})`;
}

function choiceOf(name: string): string {
  const { required = [], properties = {} } = schemaNamed(name);
  const fixed = Object.entries(properties).filter(([, { const: value }]) => value !== undefined);
  const values = fixed.map(([key, { const: value }]) => `${literal(key)}: ${literal(value)}`);
  return `(${name}, [${required.map(literal).join(', ')}], {${values.join(', ')}})`;
}

export const docOf = (text: string | undefined, indent: string): string =>
  text ? `${indent}"""${text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replaceAll('\n', ' ')}"""\n` : '';

const isSecret = (name: string): boolean => name.endsWith('secret');
const names = (all: readonly string[]): string => `frozenset([${all.map(literal).join(', ')}])`;

function classOf(name: string, base = 'Model', schema: Schema = schemaNamed(name)): string {
  const properties = Object.entries(schema.properties ?? {});
  const optional = properties.filter(([key]) => !schema.required?.includes(key)).map(([key]) => key);
  const secret = properties.map(([key]) => key).filter(isSecret);
  const fields = properties.map(([key, property]) => {
    const type = typeOf(property, 'answer');
    const absent = optional.includes(key) && !/\bNone\b/.test(type) ? ' | None' : '';
    return `    ${key}: ${type}${absent}\n${docOf(property.description, '    ')}`;
  });
  return [
    `class ${name}(${base}):\n`,
    docOf(schema.description, '    '),
    schema.description ? '\n' : '',
    '    __slots__ = ()\n\n',
    ...fields,
    `\n    _fields = ${names(properties.map(([key]) => key))}\n`,
    optional.length > 0 ? `    _optional = ${names(optional)}\n` : '',
    secret.length > 0 ? `    _secret = ${names(secret)}\n` : '',
  ].join('');
}

function convertersOf(name: string, schema: Schema = schemaNamed(name)): string {
  const converters = Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const converter = converterOf(property);
    return converter ? [`${literal(key)}: ${converter}`] : [];
  });
  return converters.length === 0 ? '' : `${name}._converters = {${converters.join(', ')}}\n`;
}

/** Lists without pages, as of roles, are objects with `data`. */
const plainLists = operations
  .filter(({ item }) => item === undefined)
  .map(({ answer }) => referenceOf(answer) ?? '')
  .filter((name) => name.endsWith('List'));

const inEvents = new Set(eventTypes.map(({ object }) => object));
const answeredNames = Object.keys(schemas).filter(
  (name) => (isPrinted(name) && (answered.has(name) || inEvents.has(name))) || plainLists.includes(name),
);
const objectNames = answeredNames.filter((name) => schemaNamed(name).properties);
const enumNames = Object.keys(schemas).filter((name) => isPrinted(name) && isEnum(schemaNamed(name)));
const sentNames = Object.keys(schemas).filter((name) => sent.has(name) && schemaNamed(name).properties);

function eventClasses(): { readonly text: string; readonly names: readonly string[] } {
  const groups = Map.groupBy(eventTypes, ({ object }) => object);
  const { description: _, ...envelope } = schemaNamed(eventTypes[0]?.event ?? '');
  const withData = (data: string, type: Schema): Schema => ({
    ...envelope,
    properties: { ...envelope.properties, type, data: { $ref: `#/components/schemas/${data}` } },
  });
  const parts: string[] = [];
  const eventNames: string[] = [];
  const converters: string[] = [];
  for (const [object, types] of groups) {
    const event = `${object}Event`;
    const data = types[0]?.data ?? '';
    eventNames.push(event);
    const own = withData(data, { type: 'string' });
    parts.push(classOf(data));
    parts.push(
      classOf(event, 'EventBase', own).replace(
        '    type: str\n',
        `    type: ${literals(types.map(({ type }) => type))}\n`,
      ),
    );
    converters.push(convertersOf(data), convertersOf(event, own));
  }
  const unknown: Schema = {
    ...envelope,
    description: 'An event of a type that this version does not know.',
    properties: { ...envelope.properties, type: { type: 'string' }, data: { type: 'object' } },
  };
  parts.push(classOf('UnknownEvent', 'EventBase', unknown));
  converters.push(convertersOf('UnknownEvent', unknown));
  const all = [...eventNames, 'UnknownEvent'];
  const byType = eventTypes.map(({ type, object }) => `    ${literal(type)}: ${object}Event,\n`);
  return {
    names: ['EventBase', 'Event', 'EventType', ...all, ...[...groups].map(([, types]) => types[0]?.data ?? '')],
    text: [
      'class EventBase(Model):\n    """What all events have."""\n\n    __slots__ = ()\n\n    id: str\n    created_at: datetime\n    api_version: str\n    livemode: bool\n    sequence: int\n',
      ...parts,
      `#: Any event. Its class determines the type of \`\`data.object\`\`.\nEvent = Union[${all.join(', ')}]\n`,
      `EventType = ${literals(eventTypes.map(({ type }) => type))}\n`,
      `_event_classes: Dict[str, type[EventBase]] = {\n${byType.join('')}}\n`,
      `def event_of(value: Any) -> Event:\n    """The event of the class that its type determines."""\n    kind = value.get("type") if isinstance(value, dict) else None\n    event: Event = _event_classes.get(str(kind), UnknownEvent).of(value)  # type: ignore[assignment]\n    return event\n`,
      converters.join(''),
    ].join('\n\n'),
  };
}

export function modelsFile(): string {
  const events = eventClasses();
  const exported = [...enumNames, ...objectNames, ...events.names].toSorted();
  return [
    'from __future__ import annotations\n\nfrom datetime import date, datetime\nfrom typing import Any, Dict, List, Literal, Union\n',
    'from .._models import Model, date_of, list_of, map_of, one_of, time_of\n',
    `__all__ = [\n${exported.map((name) => `    ${literal(name)},\n`).join('')}]\n`,
    enumNames.map((name) => `${name} = ${literals(schemaNamed(name).enum ?? [])}\n`).join(''),
    ...objectNames.map((name) => `\n${classOf(name)}`),
    `\n${events.text}`,
    objectNames.map((name) => convertersOf(name)).join(''),
  ].join('\n');
}

function typedDictionary(name: string): string {
  const { properties = {}, required = [], description } = schemaNamed(name);
  const line = ([key, property]: [string, Schema]): string =>
    `${property.description ? `    #: ${property.description.replaceAll('\n', ' ')}\n` : ''}    ${key}: ${typeOf(property, 'request').replaceAll('params.', '')}\n`;
  const entries = Object.entries(properties);
  const needed = entries.filter(([key]) => required.includes(key)).map(line);
  const others = entries.filter(([key]) => !required.includes(key)).map(line);
  const doc = docOf(description, '    ') + (description ? '\n' : '');
  if (others.length === 0) return `class ${name}(TypedDict):\n${doc}${needed.join('')}`;
  if (needed.length === 0) return `class ${name}(TypedDict, total=False):\n${doc}${others.join('')}`;
  return `class _${name}(TypedDict):\n${needed.join('')}\n\nclass ${name}(_${name}, total=False):\n${doc}${others.join('')}`;
}

export function paramsFile(): string {
  return [
    'from __future__ import annotations\n\nfrom datetime import date, datetime\nfrom typing import Any, Literal, Mapping, Sequence, TypedDict, Union\n',
    'from . import models\n',
    'class TimeBounds(TypedDict, total=False):\n    gt: Union[datetime, date, str]\n    gte: Union[datetime, date, str]\n    lt: Union[datetime, date, str]\n    lte: Union[datetime, date, str]\n',
    'class NumberBounds(TypedDict, total=False):\n    gt: int\n    gte: int\n    lt: int\n    lte: int\n',
    ...sentNames.map(typedDictionary),
  ].join('\n\n');
}
