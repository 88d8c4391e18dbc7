import { answered, eventTypes, isPrinted, referencesIn, sent } from '../../generator/client.ts';
import {
  type ApiOperation,
  operations,
  referenceOf,
  type Schema,
  schemaNamed,
  schemas,
} from '../../generator/document.ts';

/** Schemas as TypeScript, one file per tag. */

const fileOf = (tag: string): string => tag.toLowerCase().replaceAll(' ', '-');
export const parametersName = (operation: ApiOperation): string =>
  `${operation.id[0]?.toUpperCase()}${operation.id.slice(1)}Params`;

/** A schema is in the file of the first operation that returns or sends it, or in the file of the schema that uses it. */
export const fileOfSchema: ReadonlyMap<string, string> = findFiles();

function findFiles(): Map<string, string> {
  const found = new Map<string, string>([
    ['Event', 'Events'],
    ['EventType', 'Events'],
    ['EventPattern', 'Events'],
  ]);
  const place = (names: readonly (string | undefined)[], tag: string): string[] => {
    const unplaced = names.filter((name) => name !== undefined).filter((name) => !found.has(name));
    for (const name of unplaced) found.set(name, tag);
    return unplaced;
  };
  for (const { answer, item, body, tag } of operations) place([item ?? referenceOf(answer), referenceOf(body)], tag);
  // Level by level, so that a shared schema is in the file of its closest user.
  let level = [...found.keys()];
  while (level.length > 0) {
    level = level.flatMap((name) => place(referencesIn(schemaNamed(name)), found.get(name) ?? ''));
  }
  return found;
}

/** The text of a type and the names it uses. */
function typeOf(schema: Schema, depth: number, used: Set<string>, isSent = false): string {
  const use = (name: string): string => {
    used.add(name);
    return name;
  };
  const name = referenceOf(schema);
  if (name) return use(name);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf) {
    return [...new Set(schema.anyOf.map((inner) => typeOf(inner, depth, used, isSent)))].join(' | ');
  }
  if (schema.items) {
    const item = typeOf(schema.items, depth, used, isSent);
    const isUnion = schema.items.anyOf !== undefined || item.startsWith("'");
    const list = isUnion ? `(${item})[]` : `${item}[]`;
    return isSent ? `readonly ${list}` : list;
  }
  if (schema.properties) return `{\n${propertiesOf(schema, depth + 1, used, isSent)}${'  '.repeat(depth)}}`;
  if (schema.patternProperties) {
    const [value = {}] = Object.values(schema.patternProperties);
    return `Record<string, ${typeOf(value, depth, used, isSent)}>`;
  }
  if (schema.type === 'object') return 'Record<string, unknown>';
  return (
    { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[schema.type ?? ''] ??
    'unknown'
  );
}

const literal = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value}'` : String(value);

function propertiesOf(schema: Schema, depth: number, used: Set<string>, isSent: boolean): string {
  const indent = '  '.repeat(depth);
  return Object.entries(schema.properties ?? {})
    .map(([name, property]) => {
      const isOptional = !schema.required?.includes(name);
      const type = typeOf(property, depth, used, isSent);
      const absent = isOptional && isSent ? ' | undefined' : '';
      return `${comment(textOf(property.description, property), indent)}${indent}${name}${isOptional ? '?' : ''}: ${type}${absent};\n`;
    })
    .join('');
}

function textOf(description: string | undefined, schema: Schema): string | undefined {
  if (schema.default === undefined) return description;
  const fallback = `Default: \`${JSON.stringify(schema.default).replaceAll('"', "'")}\`.`;
  return description ? `${description} ${fallback}` : fallback;
}

export function comment(text: string | undefined, indent: string): string {
  return text ? `${indent}/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n` : '';
}

function declaration(name: string, used: Set<string>): string {
  const schema = schemaNamed(name);
  const description = comment(schema.description, '');
  // Used in requests and responses. As a response it is never undefined.
  const isSent = sent.has(name) && !answered.has(name);
  if (!schema.properties) return `${description}export type ${name} = ${typeOf(schema, 0, used, isSent)};\n`;
  return `${description}export interface ${name} ${typeOf(schema, 0, used, isSent)}\n`;
}

/** The types of expansions: `Order` with `expand: ['customer']` has a `customer`. */
function expansions(operation: ApiOperation, resource: string, used: Set<string>): string {
  const properties = schemaNamed(resource).properties ?? {};
  const lines = operation.expand.map((name) => {
    const property = properties[name] ?? {};
    // If the field is a union of a summary and the complete object, the complete object comes first.
    const [whole = property] = property.anyOf ?? [];
    const mayBeMissing = properties[`${name}_id`]?.anyOf?.some(({ type }) => type === 'null');
    return `  ${name}: ${typeOf(whole, 1, used)}${mayBeMissing ? ' | undefined' : ''};\n`;
  });
  return `export interface ${resource}Expansions {\n${lines.join('')}}\n`;
}

/** `created_at[gte]` and similar parameters become one parameter with bounds. */
function parameters(operation: ApiOperation, used: Set<string>): string {
  const lines: string[] = [];
  const bounds = new Map<string, string[]>();
  for (const { name, description, schema } of operation.query) {
    const [, group, bound] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (group && bound) {
      const type = typeOf(schema, 1, used);
      bounds.set(group, [...(bounds.get(group) ?? []), `${bound}?: ${type} | undefined`]);
    } else {
      lines.push(`${comment(textOf(description, schema), '  ')}  ${name}?: ${queryType(schema, used)} | undefined;\n`);
    }
  }
  for (const [name, types] of bounds) lines.push(`  ${name}?: { ${types.join('; ')} } | undefined;\n`);
  return `export interface ${parametersName(operation)} {\n${lines.join('')}}\n`;
}

function queryType(schema: Schema, used: Set<string>): string {
  const list = typeOf(schema, 1, used, true);
  return schema.items ? `${typeOf(schema.items, 1, used)} | ${list}` : list;
}

function eventDeclarations(used: Set<string>): string {
  // All of them have the same envelope.
  const { properties = {}, required = [] } = schemaNamed(eventTypes[0]?.event ?? '');
  const { type: _, data: __, ...common } = properties;
  const objects = eventTypes.map(({ type, data }) => {
    const object = schemaNamed(data).properties?.object ?? {};
    return `  '${type}': ${typeOf(object, 1, used)};\n`;
  });
  return [
    `/** The object of each event type. */\nexport interface EventObjects {\n${objects.join('')}}\n`,
    'export type EventType = keyof EventObjects;\n',
    `export interface EventOf<Type extends EventType> {
${propertiesOf({ properties: common, required }, 1, used, false)}  type: Type;
  data: {
    object: EventObjects[Type];
    /** For updates: the changed fields with their old values. */
    previous?: Partial<EventObjects[Type]>;
  };
}\n`,
    '/** Any event. `type` determines the type of `data.object`. */\nexport type Event = { [Type in EventType]: EventOf<Type> }[EventType];\n',
  ].join('\n');
}

const hasParameters = (operation: ApiOperation): boolean => operation.query.length > 0;

function typeFile(tag: string): string {
  const used = new Set<string>();
  const own = operations.filter((operation) => operation.tag === tag);
  const names = Object.keys(schemas).filter((name) => fileOfSchema.get(name) === tag && isPrinted(name));
  const expanding = own.filter(({ expand }) => expand.length > 0);
  const expandable = new Map(expanding.map((operation) => [expandedResource(operation), operation]));
  const parts = [
    ...names.map((name) => declaration(name, used)),
    ...(tag === 'Events' ? [eventDeclarations(used)] : []),
    ...[...expandable].map(([resource, operation]) => expansions(operation, resource, used)),
    ...own.filter(hasParameters).map((operation) => parameters(operation, used)),
  ];
  return importsOf(used, tag, './') + parts.join('\n');
}

/** Roles are a plain list, so the expansion applies to the entries of `data`. */
export function expandedResource({ item, answer }: ApiOperation): string {
  const name = item ?? referenceOf(answer) ?? '';
  const entries = schemas[name]?.properties?.data?.items;
  return referenceOf(entries) ?? name;
}

export function importsOf(used: ReadonlySet<string>, tag: string | undefined, folder: string): string {
  const byFile = Map.groupBy([...used].toSorted(), (name) => fileOfSchema.get(name) ?? '');
  const lines = [...byFile]
    .filter(([home]) => home !== tag)
    .map(([home, names]) => `import type { ${names.join(', ')} } from '${folder}${fileOf(home)}.ts';\n`);
  return lines.length === 0 ? '' : `${lines.toSorted().join('')}\n`;
}

export function typeFiles(): [string, string][] {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const index = tags.map((tag) => `export type * from './${fileOf(tag)}.ts';\n`).toSorted();
  return [
    ...tags.map((tag): [string, string] => [`types/${fileOf(tag)}.ts`, typeFile(tag)]),
    ['types/index.ts', index.join('')],
  ];
}
