import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/** Converts the TypeScript of this package to JavaScript for browsers. It only removes types, so it needs no other tool. */

/** A path relative to this file, or the URL of a file of another package. */
type Source = string | URL;

export const sources = {
  svc: ['src/frame.ts', 'src/svc.ts'],
  cardFields: [
    // The service and the fields know the same brands.
    '../../server/platform/card-brands.ts',
    'src/cards.ts',
    'src/texts.ts',
    'src/theme.ts',
    'src/field.ts',
    'src/token-request.ts',
    'src/card-form.ts',
    'src/card-fields.ts',
  ],
} as const;

export function readSource(name: Source): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

/** A file without its types and imports. Where types were, blanks are left, which no file here has inside a string. */
function plainScript(name: Source): string {
  return stripTypes(readSource(name))
    .replace(/[^\S\n]+$/gm, '')
    .replace(/(?<=\S)[^\S\n]{2,}/g, ' ')
    .replace(/\n{2,}/g, '\n')
    .replace(/^import [^;]*;\n/gm, '');
}

const withoutExports = (script: string): string => script.replace(/^export /gm, '');

/** An ES module: its files, in the order of their imports. What the last one exports, the module does. */
export function moduleScript(names: readonly Source[]): string {
  const scripts = names.map(plainScript);
  checkNames(scripts.join(''));
  return [...scripts.slice(0, -1).map(withoutExports), ...scripts.slice(-1)].join('');
}

/** Comments on lines of their own, which are a tenth of what a visitor would load. */
const withoutComments = (script: string): string => script.replace(/^[^\S\n]*(?:\/\*[^]*?\*\/[^\S\n]*|\/\/.*)\n/gm, '');

/** A classic script: all files in the order of their imports, in one scope that exports only `globals`. */
export function classicScript(names: readonly Source[], globals: readonly string[] = []): string {
  const script = withoutComments(withoutExports(moduleScript(names))).replaceAll(
    'import.meta.url',
    'document.currentScript.src',
  );
  const handOver = globals.map((name) => `window.${name} = ${name};\n`);
  return `(() => {\n'use strict';\n${script}${handOver.join('')}})();\n`;
}

/** The files share one scope, in which the second of two functions with the same name would replace the first. */
function checkNames(script: string): void {
  const names = [...script.matchAll(/^(?:export )?(?:async )?(?:function|class|const|let) (\w+)/gm)].map(
    ([, name]) => name,
  );
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new Error(`Two files of the script define ${twice}.`);
}

function stripTypes(text: string): string {
  const emitWarning = Object.getOwnPropertyDescriptor(process, 'emitWarning') ?? {};
  // Suppresses the warning about an experimental feature, which users of the service cannot change.
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text);
  } finally {
    Object.defineProperty(process, 'emitWarning', emitWarning);
  }
}
