import type { TSchema } from 'typebox';
import { documentedPattern } from '../formats.ts';
import { documentedAs, documentedUnique } from '../schemas.ts';

/** The parts that the operations of a document share, collected while they are written. */

export type Json = Record<string, unknown>;

export interface Components {
  readonly schemas: Json;
  readonly responses: Json;
  readonly parameters: Json;
}

export const componentReference = (kind: keyof Components | 'headers', name: string): Json => ({
  $ref: `#/components/${kind}/${name}`,
});

/** A schema with a title becomes a component and is referred to by its title. Each title belongs to one schema. */
export function schemaReference(schema: TSchema, { schemas }: Components): Json {
  return hoist(schema, schemas) as Json;
}

function hoist(node: unknown, schemas: Json): unknown {
  if (Array.isArray(node)) return node.map((inner) => hoist(inner, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const { title, examples, [documentedAs]: documented, [documentedUnique]: unique, ...rest } = node as Json;
  if (documented !== undefined) return hoist(documented, schemas);
  // A default belongs to the use of a schema, not to the schema.
  if (typeof title === 'string' && 'default' in rest) {
    const { default: fallback, ...shared } = node as Json;
    return { ...(hoist(shared, schemas) as Json), default: fallback };
  }
  if (typeof title === 'string' && schemas[title]) return componentReference('schemas', title);
  const inner: Json = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, hoist(value, schemas)]));
  const written = {
    ...inner,
    ...patternOf(rest),
    ...widthOf(rest),
    ...(unique === true && { uniqueItems: true }),
    ...(examples !== undefined && { examples }),
  };
  if (typeof title !== 'string') return title === undefined ? written : { ...written, title: hoist(title, schemas) };
  schemas[title] = { title, ...written };
  return componentReference('schemas', title);
}

/** For languages whose number types have a fixed size. */
function widthOf({ type, maximum }: Json): Json {
  if (type === 'number') return { format: 'double' };
  return type === 'integer' && typeof maximum === 'number' && maximum >= 2 ** 31 ? { format: 'int64' } : {};
}

function patternOf({ type, format, pattern }: Json): Json {
  if (type !== 'string' || typeof format !== 'string') return {};
  const documented = documentedPattern(format, typeof pattern === 'string' ? pattern : undefined);
  return documented === undefined ? {} : { pattern: documented };
}
