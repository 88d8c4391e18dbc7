import { document, resolve } from '../../tests/support/openapi.ts';

/** The parts of the OpenAPI document that the SDK uses. */

export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: string | number | boolean;
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface WrittenOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly [string];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
  readonly 'x-idempotency': 'required' | 'optional' | 'none';
}

export interface ApiOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly keyed: boolean;
  readonly pathParameters: readonly string[];
  readonly query: readonly Parameter[];
  readonly upload: boolean;
  readonly body: Schema | undefined;
  /** Undefined if the call never succeeds. */
  readonly answer: Schema | undefined;
  /** For a list: the type of its items. */
  readonly item: string | undefined;
  /** As in `fields[orders]`. */
  readonly fieldsOf: string | undefined;
  readonly expand: readonly string[];
}

export const schemas = document.components.schemas as Readonly<Record<string, Schema>>;
export const version = document.info['x-api-version'];

export function schemaNamed(name: string): Schema {
  const schema = schemas[name];
  if (!schema) throw new Error(`the document has no schema ${name}`);
  return schema;
}

export const referenceOf = (schema: Schema | undefined): string | undefined => schema?.$ref?.split('/').at(-1);

const paths = document.paths as unknown as Record<string, Record<string, WrittenOperation>>;

export const operations: readonly ApiOperation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, written]) => operationOf(path, method.toUpperCase(), written)),
);

function operationOf(path: string, method: string, written: WrittenOperation): ApiOperation {
  const query = written.parameters.map((one) => resolve(one)).filter((parameter) => parameter.in === 'query');
  const success = Object.entries(written.responses).find(([status]) => status.startsWith('2'))?.[1];
  const answer = success?.content['application/json']?.schema;
  return {
    id: written.operationId,
    method,
    path,
    tag: written.tags[0],
    summary: written.summary,
    keyed: written['x-idempotency'] !== 'none',
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
    query: query.filter(({ name }) => name !== 'expand' && !name.startsWith('fields[')),
    upload: written.requestBody?.content['multipart/form-data'] !== undefined,
    body: written.requestBody?.content['application/json']?.schema,
    answer,
    item: itemOf(answer),
    fieldsOf: query.map(({ name }) => /^fields\[(\w+)\]$/.exec(name)?.[1]).find((name) => name !== undefined),
    expand: (query.find(({ name }) => name === 'expand')?.schema.items?.enum ?? []).map(String),
  };
}

/** A schema with cursors is a page of a list. */
function itemOf(answer: Schema | undefined): string | undefined {
  const name = referenceOf(answer);
  const properties = name ? schemaNamed(name).properties : undefined;
  return properties?.cursors ? referenceOf(properties.data?.items) : undefined;
}
