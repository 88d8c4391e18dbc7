import { capitalized, idNames, type Namespace, namespaces, sentenceOf } from '../../generator/client.ts';
import { type ApiOperation, operations, referenceOf, schemaNamed } from '../../generator/document.ts';
import { bodiesNeverLeftOut } from '../../generator/names.ts';
import { comment, expandedResource, fileOfSchema, importsOf, parametersName } from './types.ts';

/** One class per namespace of the client, one method per operation. */

const kebab = (text: string): string => text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

interface Uses {
  readonly types: Set<string>;
  readonly core: Map<string, Set<string>>;
}

function useCore(uses: Uses, file: string, ...names: string[]): void {
  const known = uses.core.get(file) ?? new Set<string>();
  for (const name of names) known.add(name);
  uses.core.set(file, known);
}

function bodyParameter(operation: ApiOperation, uses: Uses): string | undefined {
  if (operation.upload) {
    useCore(uses, 'request', 'type FileContent');
    return 'file: FileContent';
  }
  const name = referenceOf(operation.body);
  if (!name) return undefined;
  uses.types.add(name);
  const isOptional =
    operation.method !== 'PATCH' &&
    (schemaNamed(name).required ?? []).length === 0 &&
    !bodiesNeverLeftOut.includes(operation.id);
  return isOptional ? `body: ${name} = {}` : `body: ${name}`;
}

interface Typing {
  readonly generics: string;
  readonly choice: string[];
  readonly answer: string;
}

function typingOf(operation: ApiOperation, uses: Uses): Typing {
  const { expand, fieldsOf, item } = operation;
  const resource = expandedResource(operation);
  uses.types.add(resource);
  const generics: string[] = [];
  const choice: string[] = [];
  if (expand.length > 0) {
    uses.types.add(`${resource}Expansions`);
    useCore(uses, 'shown', 'type ExpandChoice');
    generics.push(`const Expand extends keyof ${resource}Expansions = never`);
    choice.push('ExpandChoice<Expand>');
  }
  if (fieldsOf) {
    useCore(uses, 'shown', 'type FieldChoice');
    generics.push(`const Field extends keyof ${resource} = keyof ${resource}`);
    choice.push('FieldChoice<Field>');
  }
  let shown = resource;
  if (generics.length > 0) {
    const field = fieldsOf ? 'Field' : `keyof ${resource}`;
    shown =
      expand.length > 0 ? `Shown<${resource}, ${resource}Expansions, Expand, ${field}>` : `Chosen<${resource}, Field>`;
    useCore(uses, 'shown', expand.length > 0 ? 'type Shown' : 'type Chosen');
  }
  return { generics: generics.length > 0 ? `<${generics.join(', ')}>` : '', choice, answer: answerOf(shown) };

  function answerOf(one: string): string {
    if (item) return `PagePromise<${one}>`;
    return resource === referenceOf(operation.answer) ? `Promise<${one}>` : `Promise<{ data: ${one}[] }>`;
  }
}

function methodText(name: string, operation: ApiOperation, uses: Uses): string {
  const ids = idNames(operation);
  const body = bodyParameter(operation, uses);
  const plainAnswer = referenceOf(operation.answer);
  const hasEntries = operation.item !== undefined || operation.expand.length > 0 || operation.fieldsOf !== undefined;
  const { generics, choice, answer } = hasEntries
    ? typingOf(operation, uses)
    : { generics: '', choice: [], answer: `Promise<${plainAnswer ?? 'never'}>` };
  if (!hasEntries && plainAnswer) uses.types.add(plainAnswer);
  const asked = [...(operation.query.length > 0 ? [parametersName(operation)] : []), ...choice];
  if (operation.query.length > 0) uses.types.add(parametersName(operation));
  const query = asked.length > 0 ? `params: ${asked.join(' & ')} = {}` : undefined;
  const parameters = [...ids.map((id) => `${id}: string`), body, query, 'options?: RequestOptions'].filter(Boolean);
  const target = `operations.${operation.id}, [${ids.join(', ')}]`;
  const input = [operation.upload && 'file', body && !operation.upload && 'body', query && 'query: params'];
  const call = operation.item
    ? `listPages(this.#call, ${target}, params, options)`
    : `this.#call(${target}, { ${input.filter(Boolean).join(', ')} }, options)`.replace('{  }', '{}');
  if (operation.item) useCore(uses, 'paging', 'listPages', 'type PagePromise');
  return [
    comment(sentenceOf(operation), '  '),
    `  ${name}${generics}(${parameters.join(', ')}): ${answer} {\n    return ${call};\n  }\n`,
  ].join('');
}

function classOf(namespace: Namespace, className: string, uses: Uses): string {
  const inner = [...namespace.inner.values()];
  const innerName = (one: Namespace): string => className + capitalized(one.name);
  const fields = inner.map((one) => `  readonly ${one.name}: ${innerName(one)};\n`);
  const assignments = inner.map((one) => `    this.${one.name} = new ${innerName(one)}(call);\n`);
  const hasMethods = namespace.methods.length > 0;
  const methods = namespace.methods.map(({ name, operation }) => methodText(name, operation, uses));
  return [
    ...inner.map((one) => `${classOf(one, innerName(one), uses)}\n`),
    `export class ${className} {\n`,
    hasMethods ? '  readonly #call: Call;\n' : '',
    ...fields,
    `\n  constructor(call: Call) {\n`,
    hasMethods ? '    this.#call = call;\n' : '',
    ...assignments,
    '  }\n',
    ...methods.map((text) => `\n${text}`),
    '}\n',
  ].join('');
}

function resourceFile(namespace: Namespace): string {
  const uses: Uses = { types: new Set(), core: new Map() };
  const text = classOf(namespace, capitalized(namespace.name), uses);
  useCore(uses, 'request', 'type Call', 'type RequestOptions');
  const core = [...uses.core]
    .map(([file, names]) => `import { ${[...names].toSorted().join(', ')} } from '../../${file}.ts';\n`)
    .map((line) => line.replace(/^import \{ (type [^}]*) \}/, onlyTypes))
    .toSorted();
  return `${core.join('')}import { operations } from '../operations.ts';\n${importsOf(withFiles(uses.types), undefined, '../types/')}${text}`;
}

const onlyTypes = (line: string, names: string): string =>
  names.split(', ').every((name) => name.startsWith('type '))
    ? `import type { ${names.replaceAll('type ', '')} }`
    : line;

/** Parameters and expansions are in the file of their resource. */
function withFiles(types: ReadonlySet<string>): ReadonlySet<string> {
  for (const name of types) {
    if (fileOfSchema.has(name)) continue;
    const operation = operations.find(
      (one) => parametersName(one) === name || (one.expand.length > 0 && `${expandedResource(one)}Expansions` === name),
    );
    if (!operation) throw new Error(`where is ${name}?`);
    (fileOfSchema as Map<string, string>).set(name, operation.tag);
  }
  return types;
}

function resourcesFile(roots: readonly Namespace[]): string {
  const imports = roots.map(({ name }) => `import { ${capitalized(name)} } from './resources/${kebab(name)}.ts';\n`);
  const fields = roots.map(({ name }) => `  readonly ${name}: ${capitalized(name)};\n`);
  const assignments = roots.map(({ name }) => `    this.${name} = new ${capitalized(name)}(call);\n`);
  return [
    `import type { Call } from '../request.ts';\n`,
    ...imports.toSorted(),
    '\nexport class Resources {\n',
    ...fields,
    '\n  constructor(call: Call) {\n',
    ...assignments,
    '  }\n}\n',
  ].join('');
}

export function resourceFiles(): [string, string][] {
  const roots = [...namespaces().values()];
  return [
    ...roots.map((root): [string, string] => [`resources/${kebab(root.name)}.ts`, resourceFile(root)]),
    ['resources.ts', resourcesFile(roots)],
  ];
}
