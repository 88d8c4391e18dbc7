import {
  capitalized,
  idNames,
  type Namespace,
  namespaces,
  type QueryParameter,
  queryParameters,
  sentenceOf,
  snakeCase,
} from '../../generator/client.ts';
import { type ApiOperation, operations, referenceOf, type Schema, schemaNamed } from '../../generator/document.ts';
import { converterOf, docOf, typeOf } from './models.ts';

/** One class per namespace of the client, one method per operation; once blocking and once asynchronous. */

const constant = (id: string): string => snakeCase(id).toUpperCase();

interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

function bodyParameters(operation: ApiOperation): Parameter[] {
  const name = referenceOf(operation.body);
  if (!name) return [];
  const { properties = {}, required = [] } = schemaNamed(name);
  return Object.entries(properties).map(([key, property]) => ({
    name: key,
    type: typeOf(property, 'request'),
    required: required.includes(key),
  }));
}

function queryType({ schema, bounds }: QueryParameter): string {
  if (bounds.length > 0) return schema.type === 'integer' ? 'params.NumberBounds' : 'params.TimeBounds';
  if (!schema.items) return typeOf(schema, 'request');
  const item = typeOf(schema.items, 'request');
  return `${item} | Sequence[${item}]`;
}

const annotated = ({ name, type, required }: Parameter): string =>
  required ? `${name}: ${type}` : `${name}: ${type} | Omitted = OMITTED`;

const dictionary = (parameters: readonly Parameter[]): string =>
  `{${parameters.map(({ name }) => `"${name}": ${name}`).join(', ')}}`;

function answerOf({ answer }: ApiOperation): { readonly type: string; readonly converter: string } {
  const schema: Schema = answer ?? {};
  const type = typeOf(schema, 'answer').replaceAll(/\b([A-Z]\w+)\b/g, (name) =>
    name === 'Any' ? name : `models.${name}`,
  );
  const converter = converterOf(schema)?.replaceAll(/(?<!")\b([A-Z]\w+|event_of)\b(?!")/g, (name) =>
    ['True', 'False'].includes(name) ? name : `models.${name}`,
  );
  return { type, converter: converter ?? 'as_is' };
}

function methodText(name: string, operation: ApiOperation, isAsync: boolean): string {
  const ids = idNames(operation).map(snakeCase);
  const body = bodyParameters(operation);
  const query = queryParameters(operation).map((one) => ({ name: one.name, type: queryType(one), required: false }));
  const named = [...body, ...query];
  const taken = [...ids, ...named.map((one) => one.name), 'options', 'file'];
  if (new Set(taken).size !== taken.length) throw new Error(`${operation.id} has two parameters with the same name`);
  const ordered = [...named.filter(({ required }) => required), ...named.filter(({ required }) => !required)];
  const signature = [
    'self',
    ...ids.map((id) => `${id}: str`),
    ...(operation.upload ? ['file: bytes'] : []),
    '*',
    ...ordered.map(annotated),
    'options: RequestOptions | None = None',
  ].join(', ');
  const target = `operations.${constant(operation.id)}`;
  const doc = docOf(sentenceOf(operation), '        ');
  if (operation.item) {
    const item = `models.${operation.item}`;
    const convert = operation.item === 'Event' ? 'models.event_of' : `${item}.of`;
    return [
      `    def ${name}(${signature}) -> ${isAsync ? 'AsyncPages' : 'Page'}[${item}]:\n${doc}`,
      `        return self._calls._list(${target}, ${convert}, [${ids.join(', ')}], ${dictionary(query)}, options)\n`,
    ].join('');
  }
  const { type, converter } = answerOf(operation);
  const input = [
    target,
    converter,
    ...(ids.length > 0 ? [`ids=[${ids.join(', ')}]`] : []),
    ...(query.length > 0 ? [`query=${dictionary(query)}`] : []),
    ...(referenceOf(operation.body) ? [`body=${dictionary(body)}`] : []),
    ...(operation.upload ? ['file=file'] : []),
    'options=options',
  ].join(', ');
  const made = converter.startsWith('one_of(') ? `Call[${type}]` : 'Call';
  const [define, wait] = isAsync ? ['async def', 'await '] : ['def', ''];
  return `    ${define} ${name}(${signature}) -> ${type}:\n${doc}        return ${wait}self._calls._call(${made}(${input}))\n`;
}

function classOf(namespace: Namespace, className: string, isAsync: boolean): string {
  const inner = [...namespace.inner.values()];
  const calls = isAsync ? 'AsyncCalls' : 'Calls';
  const innerName = (one: Namespace): string => className + capitalized(one.name);
  return [
    ...inner.map((one) => classOf(one, innerName(one), isAsync)),
    `class ${className}:\n    def __init__(self, calls: ${calls}) -> None:\n        self._calls = calls\n`,
    ...inner.map((one) => `        self.${snakeCase(one.name)} = ${innerName(one)}(calls)\n`),
    ...namespace.methods.map(({ name, operation }) => `\n${methodText(snakeCase(name), operation, isAsync)}`),
    '\n\n',
  ].join('');
}

export function resourcesFile(isAsync: boolean): string {
  const roots = [...namespaces().values()];
  const prefix = isAsync ? 'Async' : '';
  const classes = roots.map((root) => classOf(root, prefix + capitalized(root.name), isAsync));
  const fields = roots.map(({ name }) => `        self.${snakeCase(name)} = ${prefix}${capitalized(name)}(calls)\n`);
  return [
    'from __future__ import annotations\n\nfrom datetime import date, datetime\nfrom typing import Any, Literal, Mapping, Sequence\n\n',
    `from .._calls import ${isAsync ? 'AsyncCalls' : 'Calls'}, as_is\n`,
    'from .._core import OMITTED, Call, Omitted, RequestOptions\nfrom .._models import list_of, one_of\n',
    `from .._paging import ${isAsync ? 'AsyncPages' : 'Page'}\nfrom . import models, operations, params\n\n\n`,
    ...classes,
    `class ${prefix}Resources:\n    def __init__(self, calls: ${isAsync ? 'AsyncCalls' : 'Calls'}) -> None:\n`,
    ...fields,
  ].join('');
}

export function operationsFile(apiVersion: string, sdkVersion: string): string {
  const lines = operations.map(({ id, method, path, keyed, fieldsOf }) => {
    const fields = fieldsOf ? JSON.stringify(fieldsOf) : 'None';
    return `${constant(id)} = Operation("${method}", "${path}", ${keyed ? 'True' : 'False'}, ${fields})\n`;
  });
  return [
    'from __future__ import annotations\n\nfrom dataclasses import dataclass\n\n',
    `API_VERSION = "${apiVersion}"\n#: The version of this package.\nSDK_VERSION = "${sdkVersion}"\n\n\n`,
    '@dataclass(frozen=True)\nclass Operation:\n    method: str\n    path: str\n    #: Whether the operation uses an idempotency key.\n    keyed: bool\n    #: The name in ``fields[orders]``.\n    fields_of: str | None\n\n\n',
    ...lines,
  ].join('');
}
