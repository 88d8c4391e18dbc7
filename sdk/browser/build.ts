import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { classicScript, moduleScript, sources } from './bundle.ts';

/** `node build.ts [folder]`: builds the npm package: a module, a script for pages without a bundler, and the types. */

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, 'dist'));
// The compiler of the dashboard, which is there whenever something is built.
const buildTools = createRequire(new URL('../../dashboard/package.json', import.meta.url));

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'svc.mjs'), moduleScript(sources.svc));
writeFileSync(join(folder, 'svc.js'), classicScript(sources.svc, ['Svc']));
const compiler = join(dirname(buildTools.resolve('typescript/package.json')), 'bin', 'tsc');
execFileSync(process.execPath, [compiler, '-p', join(here, 'tsconfig.types.json'), '--outDir', folder], {
  stdio: 'inherit',
});
// Nothing that a page can import refers to these.
for (const name of ['frame', 'messages']) rmSync(join(folder, `${name}.d.ts`));
