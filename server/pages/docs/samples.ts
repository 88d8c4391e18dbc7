import { methodNames } from '../../../sdk/generator/names.ts';
import goSamples from './go-samples.json' with { type: 'json' };
import type { Sample } from './highlight.ts';
import { type Call, type Described, exampleOf } from './openapi.ts';

/** The samples of a call: the same request with curl and with the SDKs for Node, Python and Go. */

const pathParameters = ({ parameters, path }: Call, described: Described): Map<string, string> =>
  new Map(
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
      const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
      return [name, parameter ? String(exampleOf(parameter.schema, described)) : name];
    }),
  );

export function bodyExample(call: Call): unknown {
  return call.requestBody?.content['application/json']?.example;
}

const isUpload = ({ requestBody }: Call): boolean => requestBody?.content['multipart/form-data'] !== undefined;

/** An object that contains a list, such as the credit of a customer, is read like any other. */
export const isList = ({ method, parameters, operationId }: Call): boolean =>
  method === 'GET' &&
  parameters.some(({ name }) => name === 'starting_after') &&
  !methodNames[operationId]?.endsWith('.get');

// sdk/go/generate.ts writes them, because a value in Go depends on the type of its field.
const goCodes: Readonly<Record<string, string>> = goSamples;

export function samplesOf(call: Call, described: Described): Sample[] {
  return [
    { name: 'curl', language: 'sh', code: curlOf(call, described) },
    { name: 'Node', language: 'js', code: nodeOf(call, described) },
    { name: 'Python', language: 'python', code: pythonOf(call, described) },
    { name: 'Go', language: 'go', code: goCodes[call.operationId] ?? '' },
  ];
}

function curlOf(call: Call, described: Described): string {
  const ids = pathParameters(call, described);
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids.get(name) ?? '');
  const body = bodyExample(call);
  const method = call.method === 'GET' || call.method === 'POST' ? '' : `-X ${call.method} `;
  const hasData = body !== undefined || isUpload(call);
  return [
    `curl ${call.method === 'POST' && !hasData ? '-X POST ' : method}"$SVC_URL${path}${isList(call) ? '?limit=10' : ''}"`,
    '-H "Authorization: Bearer $SVC_KEY"',
    ...(call['x-idempotency'] === 'required' ? ['-H "X-SVC-Idempotency-Key: $(uuidgen)"'] : []),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`]),
    ...(isUpload(call) ? ['-F file=@picture.png'] : []),
  ].join(' \\\n  ');
}

function nodeOf(call: Call, described: Described): string {
  const name = methodNames[call.operationId] ?? '';
  const body = bodyExample(call);
  const values = [
    ...[...pathParameters(call, described).values()].map((id) => `'${id}'`),
    ...(isUpload(call) ? ["await openAsBlob('picture.png')"] : []),
    ...(body === undefined ? [] : [literal(body)]),
  ];
  const start = isUpload(call) ? "import { openAsBlob } from 'node:fs';\n" : '';
  if (isList(call)) {
    const [variable = 'object'] = name.split('.');
    return `for await (const ${singular(variable)} of svc.${name}(${[...values, '{ limit: 10 }'].join(', ')})) {\n  console.log(${singular(variable)}.id);\n}`;
  }
  return `${start}const result = await svc.${name}(${values.join(', ')});`;
}

const singular = (name: string): string => name.replace(/s$/, '');

/** As a person would write it in JavaScript: names without quotes where possible, and single quotes. */
function literal(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, indent)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(
    ([name, one]) => `${inner}${/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`}: ${literal(one, inner)},`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n${indent}}`;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function pythonOf(call: Call, described: Described): string {
  const name = snakeCase(methodNames[call.operationId] ?? '');
  const body = bodyExample(call);
  const values = [
    ...[...pathParameters(call, described).values()].map((id) => JSON.stringify(id)),
    ...(isUpload(call) ? ['open("picture.png", "rb").read()'] : []),
  ];
  if (isList(call)) {
    const variable = singular(name.split('.')[0] ?? 'object');
    return `for ${variable} in svc.${name}(${[...values, 'limit=10'].join(', ')}):\n    print(${variable}.id)`;
  }
  const fields = Object.entries(typeof body === 'object' && body !== null ? body : {});
  if (fields.length === 0) return `result = svc.${name}(${values.join(', ')})`;
  const named = fields.map(([field, value]) => `${field}=${pythonLiteral(value, '    ')}`);
  return `result = svc.${name}(\n${[...values, ...named].map((one) => `    ${one},\n`).join('')})`;
}

/** As a person would write it in Python. */
function pythonLiteral(value: unknown, indent: string): string {
  const inner = `${indent}    `;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((one) => pythonLiteral(one, indent)).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${pythonLiteral(one, inner)},\n`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}
