import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `node build.ts [folder]`: builds the npm package: an ES module and a CommonJS module, each with types. */

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, 'dist'));
// The compiler of the dashboard, which is there whenever something is built.
const buildTools = createRequire(new URL('../../dashboard/package.json', import.meta.url));
const compiler = join(dirname(buildTools.resolve('typescript/package.json')), 'bin', 'tsc');

// CommonJS is set explicitly, because the nearest package.json declares ES modules.
const formats = {
  esm: ['--module', 'nodenext'],
  cjs: ['--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false'],
} as const;
const packageTypes = { esm: 'module', cjs: 'commonjs' } as const;

rmSync(folder, { recursive: true, force: true });
for (const format of ['esm', 'cjs'] as const) {
  const output = join(folder, format);
  mkdirSync(output, { recursive: true });
  const project = ['-p', join(here, 'tsconfig.build.json'), '--outDir', output];
  execFileSync(process.execPath, [compiler, ...project, ...formats[format]], { stdio: 'inherit' });
  writeFileSync(join(output, 'package.json'), `${JSON.stringify({ type: packageTypes[format] })}\n`);
  // The compiler rewrites import paths in the code, but not in the types.
  for (const name of globSync('**/*.d.ts', { cwd: output })) {
    const file = join(output, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(from '\.[^']*|import\("\.[^"]*)\.ts(?=['"])/g, '$1.js'));
  }
}
