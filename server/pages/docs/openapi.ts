import { type Documented, openApiDocument } from '../../http/openapi/document.ts';

/** The parts of the OpenAPI document that the reference shows. */

export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;

export interface Answer {
  readonly $ref?: string;
  readonly description: string;
  readonly content?: Content;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-idempotency': 'required' | 'optional' | 'none';
}

interface Document {
  readonly info: { readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: ApiOperation }>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Call extends ApiOperation {
  readonly method: string;
  readonly path: string;
}

export interface Described {
  readonly version: string;
  readonly document: Document;
  readonly calls: readonly Call[];
  /** Follows a reference to a component. */
  resolve<Part extends { readonly $ref?: string }>(part: Part): Part;
}

export function describe(documented: Documented, version: string): Described {
  const document = openApiDocument(documented, version) as unknown as Document;
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  return {
    version,
    document,
    calls,
    // A reference can have its own description or default beside it.
    resolve<Part extends { readonly $ref?: string }>(part: Part): Part {
      const { $ref, ...own } = part;
      const [, , kind = '', name = ''] = $ref?.split('/') ?? [];
      return $ref ? { ...(document.components[kind]?.[name] as Part), ...own } : part;
    },
  };
}

export const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1);

const isNull = ({ type }: Schema): boolean => type === 'null';

/** A schema without its `null`, and whether it had one. */
export function notNull(
  schema: Schema,
  { resolve }: Described,
): { readonly schema: Schema; readonly nullable: boolean } {
  const { anyOf, ...rest } = resolve(schema);
  const others = anyOf?.filter((one) => !isNull(one));
  if (!anyOf || others?.length !== 1) return { schema, nullable: anyOf?.some(isNull) ?? false };
  return { schema: { ...(others[0] as Schema), ...rest }, nullable: others.length < anyOf.length };
}

const sampleTexts: Readonly<Record<string, string>> = {
  uuid: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
  'date-time': '2026-02-11T09:30:00.000Z',
  date: '2026-02-11',
  uri: 'https://example.com',
  email: 'ada@example.com',
};

export function exampleOf(given: Schema, described: Described, depth = 0): unknown {
  const schema = described.resolve(notNull(given, described).schema);
  const known = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (known !== undefined) return known;
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice) return exampleOf(choice, described, depth + 1);
  if (depth > 6) return null;
  if (schema.type === 'array') return schema.items ? [exampleOf(schema.items, described, depth + 1)] : [];
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'string') return sampleTexts[schema.format ?? ''] ?? 'text';
  const properties = Object.entries(schema.properties ?? {});
  return Object.fromEntries(properties.map(([name, inner]) => [name, exampleOf(inner, described, depth + 1)]));
}
