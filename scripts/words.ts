import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * `node scripts/words.ts`: fails when a word of docs/glossary.md is declared in a second meaning. A type that is named after a word is
 * declared once. Words that have had a second meaning may be part of a name only where they have the meaning of the glossary.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The adapters and simulators use the words of their processors. */
const ofProcessors = /^(server\/vault\/processors\/\w+|simulators)\//;

/** Where a word may be part of the name of a variable, a function, a type or a field. */
const places: readonly [word: RegExp, allowed: RegExp][] = [
  [/^settle(s|d|ments?)?$|^settling$/i, /^(server\/(vault\/processors|features\/(orders|transactions))|simulators)\//],
  [
    /^renew(s|ed|als?|ing)?$/i,
    /^(server\/(features\/(subscriptions|orders|reconciliation|rehearsals|restores|checkout-sessions|customer-\w+)|observation)|cli|dashboard|pages|bench)\//,
  ],
  [/^homes?$/i, /^dashboard\//],
  // At another connection. Another shard is `whereItIs` or `movedTo`.
  [/^elsewhere$/i, /^server\/features\/(orders|reconciliation)\//],
  // 3-D Secure calls its two ways to authenticate flows.
  [/^flows?$/i, /^(server\/(platform\/admission-control\.ts|http\/|vault\/processors\/)|simulators\/)/],
];

/** The words of the glossary as the names of types, for example `AuditEntry`. */
function glossaryTypes(): Set<string> {
  const rows = [...read('docs/glossary.md').matchAll(/^\| (?!Word \|)([a-zA-Z][^|]*) \|/gm)];
  const words = rows.flatMap(([, cell = '']) => cell.replaceAll(/\([^)]*\)/g, '').split(','));
  const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  return new Set(words.map((word) => word.trim().split(/[ -]/).map(capital).join('')));
}

function sources(pattern: string): string[] {
  const exclude = (path: string): boolean => /(^|\/)(node_modules|dist|generated)$/.test(path);
  return globSync(pattern, { cwd: root, exclude }).filter((file) => !/\.(test|d)\.ts$/.test(file));
}

/** The types that have the name of a word and are declared more than once. */
function declaredTwice(): string[] {
  const types = glossaryTypes();
  const declared = new Map<string, string[]>();
  for (const file of sources('{server,cli}/**/*.ts').filter((one) => !ofProcessors.test(one))) {
    for (const [, name = ''] of read(file).matchAll(/^(?:export )?(?:interface|type|class) (\w+)\b/gm)) {
      if (!types.has(name)) continue;
      declared.set(name, [...(declared.get(name) ?? []), file]);
    }
  }
  return [...declared]
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `${name} is declared in ${files.join(' and ')}`);
}

const declaration = /\b(?:const|let|function|class|interface|type) (\w+)|\breadonly (\w+)\??:/g;

/** The names with a word in a place where it has another meaning. */
function misplaced(): string[] {
  return sources('{server,simulators,cli,dashboard,pages,sdk,bench,scripts}/**/*.{ts,tsx}').flatMap((file) =>
    [...read(file).matchAll(declaration)].flatMap(([, first, second]) => {
      const name = first ?? second ?? '';
      const parts = name.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
      return places
        .filter(([word, allowed]) => !allowed.test(file) && parts.some((part) => word.test(part)))
        .map(() => `${file}: ${name}`);
    }),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = [...declaredTwice(), ...misplaced()];
  for (const line of found) console.error(`A word of docs/glossary.md has a second meaning: ${line}`);
  process.exit(found.length === 0 ? 0 : 1);
}
