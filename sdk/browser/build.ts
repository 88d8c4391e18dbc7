import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { classicScript, moduleScript, sources } from './bundle.ts';

/** `node build.ts [folder]`: builds the npm package: a module, a script for pages without a bundler, and the types. */

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, 'dist'));

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'svc.mjs'), moduleScript(sources.svc));
writeFileSync(join(folder, 'svc.js'), classicScript(sources.svc, ['Svc']));
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
execFileSync(process.execPath, [compiler, '-p', join(here, 'tsconfig.types.json'), '--outDir', folder], {
  stdio: 'inherit',
});
// Nothing that a page can import refers to these.
for (const name of ['frame', 'messages']) rmSync(join(folder, `${name}.d.ts`));
