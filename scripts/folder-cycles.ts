import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * `node scripts/folder-cycles.ts`: fails when folders import each other in a circle, types included. A folder and those inside
 * it may, since they are one thing. A file directly in server/ counts as a folder of its own: some are what everything stands
 * on, and some put everything together.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const patterns = ['{server,simulators,cli,sdk,pages,dashboard,bench,scripts,examples}/**/*.{ts,tsx}'];

const folderOf = (file: string): string => (dirname(file) === 'server' ? file : dirname(file));

/** Which folder imports which, and one import that shows it. */
function folderImports(): Map<string, Map<string, string>> {
  const graph = new Map<string, Map<string, string>>();
  const exclude = (path: string): boolean => /(^|\/)(node_modules|dist)$/.test(path);
  for (const file of globSync(patterns, { cwd: root, exclude })) {
    if (file.endsWith('.test.ts')) continue;
    const from = folderOf(file);
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(/\bfrom '(\.[^']+)'/g)) {
      const target = normalize(join(dirname(file), path));
      const to = folderOf(target);
      if (`${from}/`.startsWith(`${to}/`) || `${to}/`.startsWith(`${from}/`)) continue;
      const imports = graph.get(from) ?? new Map<string, string>();
      imports.set(to, imports.get(to) ?? `${file} imports ${target}`);
      graph.set(from, imports);
    }
  }
  return graph;
}

/** Groups of folders in which each reaches every other one (Tarjan's strongly connected components). */
function cycles(graph: ReadonlyMap<string, ReadonlyMap<string, string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  function visit(folder: string): void {
    const own = index.size;
    index.set(folder, own);
    low.set(folder, own);
    stack.push(folder);
    for (const next of graph.get(folder)?.keys() ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(folder, Math.min(low.get(folder) ?? 0, low.get(next) ?? 0));
    }
    if (low.get(folder) !== own) return;
    const members = stack.splice(stack.indexOf(folder));
    if (members.length > 1) found.push(members.toSorted());
  }
  for (const folder of graph.keys()) if (!index.has(folder)) visit(folder);
  return found;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const graph = folderImports();
  const found = cycles(graph);
  for (const members of found) {
    console.error(`These folders import each other: ${members.join(', ')}`);
    for (const from of members) {
      for (const [to, example] of graph.get(from) ?? []) if (members.includes(to)) console.error(`  ${example}`);
    }
  }
  process.exit(found.length === 0 ? 0 : 1);
}
