import type { TSchema } from 'typebox';
import { limits } from '../limits.ts';

// Of an object whose keys are free, such as metadata: more than any may have.
const openKeysMax = 2 * limits.metadataKeys;

/** The fields of a refused value that its schema does not know: the first few by name, all of them as a number. */
export interface UnknownFields {
  readonly names: string[];
  count: number;
}

interface SchemaParts {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: unknown;
  readonly items?: TSchema;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly anyOf?: readonly TSchema[];
}

/**
 * A copy of a refused value that has every known field and shows every fault of them, but no more: no unknown fields, and of
 * a text or an array that is too long just enough to be too long. What comes after can then take its time for each field.
 */
export function knownPart(schema: TSchema, value: unknown, path: string, unknown: UnknownFields): unknown {
  const parts: SchemaParts = schema;
  if (parts.anyOf) {
    const [branch, ...others] = parts.anyOf.filter((one: SchemaParts) => one.type === typeOf(value));
    return branch && others.length === 0 ? knownPart(branch, value, path, unknown) : value;
  }
  if (typeof value === 'string') {
    // A character takes two places at most.
    return parts.maxLength === undefined ? value : value.slice(0, 2 * parts.maxLength + 2);
  }
  if (Array.isArray(value)) {
    const { items, maxItems } = parts;
    const entries: unknown[] = maxItems === undefined ? value : value.slice(0, maxItems + 1);
    return items ? entries.map((entry, index) => knownPart(items, entry, `${path}[${index}]`, unknown)) : entries;
  }
  if (typeof value !== 'object' || value === null) return value;
  return knownProperties(parts, value as Record<string, unknown>, path, unknown);
}

function knownProperties(
  { properties = {}, additionalProperties }: SchemaParts,
  object: Record<string, unknown>,
  path: string,
  unknown: UnknownFields,
): Record<string, unknown> {
  const known: Record<string, unknown> = {};
  let openKeys = 0;
  for (const name in object) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property) known[name] = knownPart(property, object[name], fieldWithin(path, name), unknown);
    else if (additionalProperties === false) {
      unknown.count += 1;
      if (unknown.names.length < limits.unknownFields) unknown.names.push(fieldWithin(path, name));
    } else if (openKeys++ < openKeysMax) known[name] = object[name];
  }
  return known;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** `quantity` in `items[0]` is `items[0].quantity`. */
export function fieldWithin(path: string, name: string): string {
  const shown = name === '' ? '""' : name.slice(0, limits.textLength);
  return path ? `${path}.${shown}` : shown;
}
