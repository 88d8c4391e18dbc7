import assert from 'node:assert/strict';
import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { misconfigurations, password, prepareSurroundings } from '../support/misconfigurations.ts';
import { programPath } from '../support/programs.ts';

/** Every mistake of the table, in a process of its own, as a service manager starts it. */

const surroundings = await prepareSurroundings();
after(() => surroundings.remove());
const program = programPath('main');

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly elapsedMs: number;
}

async function run(settings: Readonly<Record<string, string>>, options: SpawnOptions = {}): Promise<Ended> {
  const startedAtMs = performance.now();
  const { PATH, TMPDIR } = process.env;
  const dataDir = join(surroundings.folder, 'new');
  const env = { PATH, TMPDIR, SVC_DATA_DIR: dataDir, PORT: '0', SVC_LOG_LEVEL: 'silent', ...settings };
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'pipe'], ...options });
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const [stderr, [code]] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')]);
  clearTimeout(timer);
  return { code: code as number | null, stderr, elapsedMs: performance.now() - startedAtMs };
}

const patienceMs = 3_000;

describe('a process that is misconfigured', { concurrency: 2 }, () => {
  for (const { settings, says, code } of misconfigurations(surroundings)) {
    it(`exits with ${code} and says: ${says.replaceAll(surroundings.folder, '').slice(0, 60)}`, async () => {
      let ended = await run(settings);
      // Other programs of the machine may have taken its time.
      if (ended.elapsedMs > patienceMs) ended = await run(settings);
      const { stderr, elapsedMs } = ended;
      assert.ok(stderr.includes(says) && !stderr.includes(password), stderr);
      assert.equal(
        stderr.replace(/^\(node:\d+\) Warning: SECURITY WARNING[^]*created\)\n/, '').split('\n').length,
        2,
        stderr,
      );
      assert.equal(ended.code, code, stderr);
      assert.ok(elapsedMs < patienceMs, `${elapsedMs} ms`);
    });
  }
});

const asRoot = process.getuid?.() === 0 ? false : 'only root can start a process as another user';

it('a user ID without a name is refused before the embedded PostgreSQL is created', { skip: asRoot }, async () => {
  const folder = join(surroundings.folder, 'nameless');
  await mkdir(folder);
  for (const path of [surroundings.folder, dirname(program)]) await chmod(path, 0o755);
  await chmod(folder, 0o777);
  const { code, stderr } = await run({ SVC_DATA_DIR: folder }, { uid: 54_321, gid: 54_321, cwd: '/' });
  assert.match(stderr, /^The embedded PostgreSQL needs a user with a name, and the user ID 54321 has none.*\n$/);
  assert.equal(code, 78);
  assert.deepEqual(await readdir(folder), []);
});
