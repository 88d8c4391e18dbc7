import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operations, schemaNamed, version } from './generator/document.ts';
import { resourceFiles } from './generator/resources.ts';
import { typeFiles } from './generator/types.ts';

/** `node sdk/node/generate.ts`: writes `src/generated` from the OpenAPI document. */

const folder = fileURLToPath(new URL('src/generated/', import.meta.url));
const notice = '// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.\n\n';

function operationsFile(): string {
  const lines = operations.map(({ id, method, path, keyed, fieldsOf }) => {
    const fields = fieldsOf ? `, fieldsOf: '${fieldsOf}'` : '';
    return `  ${id}: { method: '${method}', path: '${path}', keyed: ${keyed}${fields} },\n`;
  });
  return [
    `import type { Operation } from '../request.ts';\n\n`,
    `export const apiVersion = '${version}';\n\n`,
    `export const operations = {\n${lines.join('')}} as const satisfies Readonly<Record<string, Operation>>;\n`,
  ].join('');
}

function errorsFile(): string {
  const union = (values: readonly (string | number)[] = []): string =>
    values.map((value) => `\n  | '${value}'`).join('');
  return [
    ...['ErrorType', 'ErrorCode', 'FieldErrorCode'].map(
      (name) => `export type ${name} =${union(schemaNamed(name).enum)};\n`,
    ),
    'export interface FieldError {\n  readonly field: string;\n  readonly code: FieldErrorCode;\n  readonly message: string;\n}\n',
  ].join('\n');
}

export function generatedFiles(): Map<string, string> {
  const files: [string, string][] = [
    ['operations.ts', operationsFile()],
    ['errors.ts', errorsFile()],
    ...typeFiles(),
    ...resourceFiles(),
  ];
  return new Map(files.map(([name, text]) => [name, notice + text]));
}

/** Names of files that are missing, left over, or say something else than the document. */
export function outdatedFiles(): string[] {
  const wanted = generatedFiles();
  const present = globSync('**/*.ts', { cwd: folder });
  const changed = [...wanted].filter(([name, text]) => !present.includes(name) || read(name) !== text);
  return [...changed.map(([name]) => name), ...present.filter((name) => !wanted.has(name))];
}

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

if (import.meta.main) {
  rmSync(folder, { recursive: true, force: true });
  for (const [name, text] of generatedFiles()) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
