import type { TSchema } from 'typebox';
import { limits } from '../limits.ts';

// For an object with arbitrary keys, such as metadata: more than any object may have.
const openKeysMax = 2 * limits.metadataKeys;

/** The unknown fields of a rejected value: the first few by name, and their number. */
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
 * Returns a copy of a rejected value with every known field and every error in them, but nothing more: without
 * unknown fields, and with texts and arrays cut just above their maximum length. The detailed check of each field can
 * then be slow.
 */
export function knownPart(schema: TSchema, value: unknown, path: string, unknown: UnknownFields): unknown {
  const parts: SchemaParts = schema;
  if (parts.anyOf) {
    const [branch, ...others] = parts.anyOf.filter((one: SchemaParts) => one.type === typeOf(value));
    return branch && others.length === 0 ? knownPart(branch, value, path, unknown) : value;
  }
  if (typeof value === 'string') {
    // A character has at most two code units.
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
