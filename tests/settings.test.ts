import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findCommand } from '../cli/commands.ts';
import { loadConfig, settings as allSettings, unknownSettings } from '../server/config.ts';
import { ConfigurationError } from '../server/platform/configuration-error.ts';

/** The settings of the service: which values are refused, and that programs and guides name no others. */

const run = promisify(execFile);

// Unnoticed, each would be worse than a start that is refused: a link that does not work, a forged address.
const badSettings: Record<string, string> = {
  PORT: 'http',
  SVC_BASE_URL: 'pay.example.com',
  SVC_ROLES: 'api,cook',
  SVC_MASTER_SECRET: 'short',
  SVC_DEMO: 'maybe',
  DATABASE_URL: 'not a database',
  SVC_DATABASE_POOL: '0',
  SVC_TRUST_PROXY: 'everybody',
  SVC_LOG_LEVEL: 'loud',
  SVC_RATE_LIMIT_READ: 'fast',
  SVC_RATE_LIMIT_STORE: 'redis',
  REDIS_URL: 'nowhere',
  S3_ENDPOINT: 'nowhere',
  SVC_SHUTDOWN_SECONDS: '-1',
};

for (const [name, value] of Object.entries(badSettings)) {
  test(`a bad ${name} is refused by name`, () => {
    const wholeS3 = { S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's' };
    const load = () => loadConfig({ ...(name === 'S3_ENDPOINT' && wholeS3), [name]: value });
    assert.throws(load, (error: Error) => error instanceof ConfigurationError && error.message.includes(name));
  });
}

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

test('the guides name only settings and commands that there are', async () => {
  const elsewhere = ['SVC_NODE', 'SVC_URL', 'SVC_KEY', 'SVC_WEBHOOK_SECRET', 'SVC_PROCESSOR_SECRET'];
  const known = new Set([...Object.keys(allSettings), ...elsewhere]);
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
      called.filter((words) => !findCommand(words)).map((words) => words.join(' ')),
      [],
      file,
    );
  }
});
