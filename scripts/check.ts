import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { haveSchemas } from './manifests.ts';

/** `npm run check`: types, lint, format, unused code, imports in a circle, words with two meanings, manifests. The tools live in tools/, installed on first use. */

const root = fileURLToPath(new URL('..', import.meta.url));
const toolsFolder = join(root, 'tools');
const toolsPath = join(toolsFolder, 'node_modules', '.bin');

function run(name: string, command: string, parameters: readonly string[], folder = root): boolean {
  // oxlint expects its type-aware part on the PATH.
  const env = { ...process.env, PATH: `${toolsPath}${delimiter}${process.env.PATH}` };
  const result = spawnSync(command, parameters, {
    cwd: folder,
    stdio: 'inherit',
    env,
    shell: process.platform === 'win32',
  });
  console.log(`${result.status === 0 ? 'ok    ' : 'FAILED'} ${name}`);
  return result.status === 0;
}

if (!haveSchemas() || !['oxlint', 'biome', 'knip'].every((tool) => existsSync(join(toolsPath, tool)))) {
  // Not `npm ci`: the lockfile may lack platforms that the registry in use does not carry.
  const installed = run('install tools', 'npm', ['install', '--no-save', '--loglevel=error'], toolsFolder);
  if (!installed) process.exit(1);
}

const results = [
  run('types', join(root, 'node_modules', '.bin', 'tsc'), ['-p', '.']),
  run('types in the browser', join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'sdk/browser']),
  run('types in the pages', join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'pages']),
  run('types on the edge', join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'sdk/node']),
  run('types in the dashboard', join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'dashboard']),
  run('lint', join(toolsPath, 'oxlint'), ['--type-aware', '--deny-warnings']),
  run('format', join(toolsPath, 'biome'), ['format', '.']),
  run('nothing unused', join(toolsPath, 'knip'), []),
  run('no circles of folders', process.execPath, [join(root, 'scripts', 'folder-cycles.ts')]),
  run('one meaning for each word', process.execPath, [join(root, 'scripts', 'words.ts')]),
  run('manifests by their schemas', process.execPath, [join(root, 'scripts', 'manifests.ts')]),
];
process.exit(results.every(Boolean) ? 0 : 1);
