import {
  capitalized,
  idNames,
  type Namespace,
  namespaces,
  type QueryParameter,
  queryParameters,
  sentenceOf,
} from '../../generator/client.ts';
import { type ApiOperation, operations, referenceOf } from '../../generator/document.ts';
import { canBeNil, requestName, typeOf } from './models.ts';
import { comment, goName, goParameter, typeName } from './names.ts';

/** One type per namespace of the client, one method per operation. */

const operationName = (id: string): string => `op${capitalized(id)}`;
export const paramsName = ({ id }: ApiOperation): string => `${capitalized(id)}Params`;

function queryField({ name, schema, bounds, description }: QueryParameter): string {
  if (bounds.length > 0) {
    return `\t${goName(name)} ${schema.type === 'integer' ? 'IntBounds' : 'TimeBounds'} \`svc:"${name}"\`\n`;
  }
  const type = typeOf(schema, 'request');
  return `${comment(description, '\t')}\t${goName(name)} ${canBeNil(type) ? type : `Opt[${type}]`} \`svc:"${name}"\`\n`;
}

function queryStruct(operation: ApiOperation): string {
  const fields = queryParameters(operation);
  if (fields.length === 0) return '';
  const name = paramsName(operation);
  return `// ${name} are the optional parameters of a call.\ntype ${name} struct {\n${fields.map(queryField).join('')}}\n\n`;
}

function methodText(owner: string, name: string, operation: ApiOperation): string {
  const ids = idNames(operation).map(goParameter);
  const body = referenceOf(operation.body);
  const hasQuery = queryParameters(operation).length > 0;
  if (body && hasQuery) throw new Error(`${operation.id} has a body and a query`);
  const params = body ? requestName(body) : paramsName(operation);
  const signature = [
    'ctx context.Context',
    ...(ids.length > 0 ? [`${ids.join(', ')} string`] : []),
    ...(operation.upload ? ['file []byte'] : []),
    ...(body || hasQuery ? [`params *${params}`] : []),
    'opts ...RequestOption',
  ].join(', ');
  const input = [
    `operation: ${operationName(operation.id)}`,
    ...(ids.length > 0 ? [`ids: []string{${ids.join(', ')}}`] : []),
    ...(body ? ['body: bodyOf(params)'] : []),
    ...(hasQuery ? ['query: queryOf(params)'] : []),
    ...(operation.upload ? ['file: file, isUpload: true'] : []),
    'options: opts',
  ].join(', ');
  const start = `${comment(`${goName(name)}: ${sentenceOf(operation)}`)}func (r *${owner}) ${goName(name)}(${signature})`;
  if (operation.item) {
    const item = typeName(operation.item);
    return `${start} *Pages[${item}] {\n\treturn newPages[${item}](ctx, r.client, call{${input}})\n}\n\n`;
  }
  const answer = typeOf(operation.answer ?? {}, 'answer');
  return `${start} (*${answer}, error) {\n\treturn fetch[${answer}](ctx, r.client, call{${input}})\n}\n\n`;
}

function typeText(namespace: Namespace, owner: string): string {
  const inner = [...namespace.inner.values()];
  return [
    ...inner.map((one) => typeText(one, owner + goName(one.name))),
    `// ${owner} are the calls of one resource.\ntype ${owner} struct {\n\tclient *Client\n`,
    ...inner.map((one) => `\t${goName(one.name)} *${owner}${goName(one.name)}\n`),
    '}\n\n',
    ...namespace.methods.map(({ name, operation }) => queryStruct(operation) + methodText(owner, name, operation)),
  ].join('');
}

function newText(namespace: Namespace, owner: string): string {
  const inner = [...namespace.inner.values()].map(
    (one) => `${goName(one.name)}: ${newText(one, owner + goName(one.name))}`,
  );
  return `&${owner}{${['client: client', ...inner].join(', ')}}`;
}

const ownerOf = (namespace: Namespace): string => `${goName(namespace.name)}Calls`;

export function resourcesFile(): string {
  const roots = [...namespaces().values()];
  return [
    'package svc\n\nimport (\n\t"context"\n\t"time"\n)\n\nvar _ time.Time\n\n',
    '// Resources are the calls of the API.\ntype Resources struct {\n',
    ...roots.map((root) => `\t${goName(root.name)} *${ownerOf(root)}\n`),
    '}\n\nfunc newResources(client *Client) Resources {\n\treturn Resources{\n',
    ...roots.map((root) => `\t\t${goName(root.name)}: ${newText(root, ownerOf(root))},\n`),
    '\t}\n}\n\n',
    ...roots.map((root) => typeText(root, ownerOf(root))),
  ].join('');
}

export function operationsFile(apiVersion: string, sdkVersion: string): string {
  const lines = operations.map(({ id, method, path, keyed, fieldsOf }) => {
    const fields = fieldsOf ? `, fieldsOf: "${fieldsOf}"` : '';
    return `\t${operationName(id)} = operation{method: "${method}", path: "${path}", keyed: ${keyed}${fields}}\n`;
  });
  return [
    'package svc\n\n',
    `// APIVersion is the version of the API that the types match.\nconst APIVersion = "${apiVersion}"\n\n`,
    `// Version is the version of this module.\nconst Version = "${sdkVersion}"\n\nvar (\n`,
    ...lines,
    ')\n',
  ].join('');
}
