import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { namesakes } from '../cli/commands.ts';
import { unknownSettings, variables } from '../server/config.ts';

/** Programs and guides name only settings that there are. `misconfigurations.test.ts` has the values that are refused. */

const run = promisify(execFile);

test('every SVC variable that our programs read is known to the service', async () => {
  const { stdout } = await run(
    'git',
    ['grep', '-hoE', '(process\\.env|environment)\\.SVC_[A-Z_0-9]+', '--', 'server', 'cli', 'examples', ':!*.test.ts'],
    {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
    },
  );
  const names = new Set(
    stdout
      .trim()
      .split('\n')
      .map((text) => text.replace(/^.*\./, '')),
  );
  assert.ok(names.size > 5);
  assert.deepEqual(unknownSettings(Object.fromEntries([...names].map((name) => [name, '']))), []);
});

test('a setting of a file is known only for a secret', () => {
  const files = { SVC_MASTER_SECRET_FILE: '', SVC_SHARDS_FILE: '', SVC_BASE_URL_FILE: '' };
  assert.deepEqual(unknownSettings(files), [{ name: 'SVC_BASE_URL_FILE', meant: 'SVC_BASE_URL' }]);
});

test('the guides name only settings and commands that there are', async () => {
  const elsewhere = ['SVC_NODE', 'SVC_URL', 'SVC_KEY', 'SVC_WEBHOOK_SECRET', 'SVC_PROCESSOR_SECRET'];
  const known = new Set([...variables, ...elsewhere]);
  const folderOfGuides = new URL('../docs/', import.meta.url);
  for (const file of [
    'self-hosting.md',
    'observability.md',
    'runbook.md',
    'secrets.md',
    'going-live.md',
    'team.md',
    'dashboard.md',
    'orders.md',
    'webhooks.md',
  ]) {
    const guide = await readFile(new URL(file, folderOfGuides), 'utf8');
    const names = [...guide.matchAll(/\b(?:SVC|S3|SMTP|REDIS)_[A-Z0-9_]+\b/g)].map(([name]) => name);
    const unknown = names.filter((name) => !known.has(name));
    assert.deepEqual(unknown, [], file);
    const called = [...guide.matchAll(/\bsvc -- ([a-z]+(?: [a-z]+)?)/g)].map(([, words = '']) => words.split(' '));
    assert.deepEqual(
      called.filter((words) => namesakes(words).length === 0).map((words) => words.join(' ')),
      [],
      file,
    );
  }
});
