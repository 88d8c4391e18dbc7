import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Ended, svc } from '../tests/support/command.ts';
import { listen } from '../tests/support/listen.ts';
import { programPath } from '../tests/support/programs.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { profilesFile } from './profiles.ts';

let service: TestService;
let home: string;
const settings = (): Record<string, string> => ({ XDG_CONFIG_HOME: home });
const file = (): string => join(home, 'svc', 'profiles.json');
before(async () => {
  service = await startTestService();
  home = await mkdtemp(join(tmpdir(), 'svc-login-'));
});
after(async () => {
  await service.stop();
  await rm(home, { recursive: true, force: true });
});

async function login(key: string, ...words: string[]): Promise<Ended> {
  const { SVC_KEY: _, SVC_URL: __, SVC_BASE_URL: ___, ...rest } = process.env;
  const env = { ...rest, ...settings(), SVC_DATA_DIR: '/nowhere' };
  const child = spawn(process.execPath, [programPath('svc'), 'login', ...words], { env });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  child.stdin.end(key);
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...output };
}

describe('svc login', () => {
  test('keeps a key that the service accepts, in a file that only its owner can read', async () => {
    await mkdir(join(home, 'svc'), { mode: 0o755 });
    const done = await login(`${service.key}\n`, '--base-url', `${service.baseUrl}/`, '--profile', 'shop');
    assert.equal(done.code, 0, done.stderr);
    assert.ok(!`${done.stdout}${done.stderr}`.includes(service.key));
    assert.deepEqual([(await stat(file())).mode & 0o777, (await stat(join(home, 'svc'))).mode & 0o777], [0o600, 0o700]);
    assert.deepEqual(await readdir(join(home, 'svc')), ['profiles.json']);
    const { stdout } = await svc(settings(), 'profiles', 'list');
    assert.ok(stdout.includes(service.baseUrl) && !stdout.includes(service.key), stdout);
    assert.equal((await svc(settings(), 'customers', 'list')).code, 2, 'without a profile, no service is chosen');
    assert.equal((await svc(settings(), 'customers', 'list', '--profile', 'shop')).code, 0);
    assert.equal((await svc({ ...settings(), SVC_PROFILE: 'shop' }, 'customers', 'list')).code, 0);
    assert.match((await svc(settings(), 'orders', 'list', '--profile', 'shpo')).stderr, /Did you mean shop\?/);
  });

  test('keeps no key that is refused, publishable or missing, or that no payments service checked', async () => {
    const kept = await readFile(file(), 'utf8');
    const page = createServer((_, response) => response.end('<h1>Hello</h1>'));
    const other = await listen(page);
    const publishable = await service.createKey(service.company, { kind: 'publishable' });
    const at = ['--base-url', service.baseUrl, '--profile', 'shop'];
    for (const [key, words, code, hint] of [
      [`${service.key.slice(0, -4)}AAAA`, at, 5, /401/],
      [publishable, at, 2, /publishable key/],
      ['', at, 2, /The key is missing/],
      ['two\nlines', at, 2, /malformed/],
      [service.key, ['--base-url', other, '--profile', 'shop'], 2, /not the address of a payments service/],
      [service.key, ['--base-url', '127.0.0.1:1', '--profile', 'shop'], 4, /No response/],
      [service.key, ['--profile', 'new'], 2, /Give the address/],
      [service.key, [...at.slice(0, 3), '../shop'], 2, /name of a profile/],
    ] as const) {
      const refused = await login(key, ...words);
      assert.equal(refused.code, code, refused.stderr);
      assert.match(refused.stderr, hint);
      assert.ok(key === '' || !refused.stderr.includes(key), refused.stderr);
    }
    page.close();
    assert.equal(await readFile(file(), 'utf8'), kept);
  });

  test('accepts a key with few permissions', async () => {
    const key = await service.createKey(service.company, { permissions: ['customers:read'] });
    assert.equal((await login(key, '--base-url', service.baseUrl, '--profile', 'few')).code, 0);
  });

  test('without a name makes the profile that commands use, and never sends its key elsewhere', async () => {
    assert.equal((await login(service.key, '--base-url', service.baseUrl)).code, 0);
    assert.equal((await svc(settings(), 'customers', 'list')).code, 0);
    let seen = '';
    const stranger = createServer((request, response) => {
      seen += request.headers.authorization;
      response.end('{}');
    });
    const address = await listen(stranger);
    assert.equal((await svc(settings(), 'get', '/v1/orders', '--base-url', address)).code, 2);
    assert.equal((await svc({ ...settings(), SVC_URL: address }, 'get', '/v1/orders')).code, 2);
    stranger.close();
    assert.equal(seen, '');
  });

  test('can be undone', async () => {
    assert.equal((await svc(settings(), 'logout', '--profile', 'shop')).code, 0);
    const again = await svc(settings(), 'logout', '--profile', 'shop');
    assert.deepEqual([again.code, /no profile "shop"/.test(again.stderr)], [3, true]);
    assert.equal((await svc(settings(), 'logout')).code, 0);
    assert.equal((await svc(settings(), 'customers', 'list')).code, 2);
  });

  test('explains a file that is damaged', async () => {
    await writeFile(file(), '{oops');
    assert.match((await svc(settings(), 'customers', 'list')).stderr, /profiles\.json is not valid JSON\. Correct it/);
    await rm(file());
  });
});

test('profiles are kept where the system keeps settings', () => {
  assert.equal(profilesFile('linux', {}, '/home/ada'), '/home/ada/.config/svc/profiles.json');
  assert.equal(profilesFile('linux', { XDG_CONFIG_HOME: '/etc/ada' }, '/home/ada'), '/etc/ada/svc/profiles.json');
  assert.equal(profilesFile('linux', { XDG_CONFIG_HOME: 'ada' }, '/home/ada'), '/home/ada/.config/svc/profiles.json');
  assert.equal(profilesFile('win32', { APPDATA: '/ada/Roaming' }, '/ada'), '/ada/Roaming/svc/profiles.json');
});

const hasScript = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'script')));

describe('at a terminal', {
  skip: hasScript && process.platform === 'linux' ? false : 'script is not installed',
}, () => {
  /** Types each text after what the command shows before it; returns all that the terminal shows. */
  async function typed(
    environment: Record<string, string>,
    words: string[],
    steps: [after: RegExp, text: string][],
  ): Promise<string> {
    const line = [process.execPath, programPath('svc'), ...words].map((word) => `'${word}'`).join(' ');
    const env = { PATH: process.env.PATH, TERM: 'dumb', SVC_DATA_DIR: '/nowhere', ...environment };
    const child = spawn('script', ['-qfec', line, '/dev/null'], { env });
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      const [next] = steps;
      if (next?.[0].test(shown)) child.stdin.write(steps.shift()?.[1] ?? '');
    });
    const timer = setTimeout(() => child.kill(), 20_000);
    const [code] = (await once(child, 'close')) as [number];
    clearTimeout(timer);
    return `${shown}\nexit ${code}`;
  }

  test('login asks for the key and does not show it', async () => {
    const words = ['login', '--base-url', service.baseUrl];
    const shown = await typed(settings(), words, [
      [/Secret key for .*: $/, `${service.key.slice(0, -1)}xx\u007f\u007f${service.key.slice(-1)}\r`],
    ]);
    assert.match(shown, /Logged in at .*\nexit 0/s);
    assert.ok(!shown.includes(service.key) && !shown.includes(service.key.slice(0, 20)), shown);
    const canceled = await typed(settings(), words, [[/: $/, 'svc\u0003']]);
    assert.match(canceled, /Canceled\. Nothing was saved\..*exit 1/s);
  });

  test('a deletion is asked for, and only yes deletes', async () => {
    const environment = { SVC_URL: service.baseUrl, SVC_KEY: service.key };
    const { body } = await service.call('POST', '/v1/customers', { body: someCustomer({ email: 'gone@example.com' }) });
    const words = ['customers', 'delete', body.id];
    assert.match(await typed(environment, words, [[/\[y\/N\] $/, '\r']]), /Nothing was deleted.*exit 1/s);
    assert.match(await typed(environment, words, [[/\[y\/N\] $/, '\u0004']]), /Nothing was deleted.*exit 1/s);
    assert.match(await typed(environment, ['delete', `/v1/customers/${body.id}`], [[/\[y\/N\] $/, 'n\r']]), /exit 1/);
    assert.equal((await service.call('GET', `/v1/customers/${body.id}`)).status, 200);
    assert.match(await typed(environment, words, [[/DELETE \/v1\/customers\/.*\[y\/N\] $/, 'y\r']]), /exit 0/);
    assert.equal((await service.call('GET', `/v1/customers/${body.id}`)).body.deleted ?? true, true);
    assert.match(await typed(environment, ['--yes', ...words], []), /exit (0|3)/);
  });

  test('colors are shown, and NO_COLOR turns them off', async () => {
    assert.match(await typed({ TERM: 'xterm' }, ['--help'], []), /\u001b\[1mDevelopment/);
    assert.ok(!(await typed({ TERM: 'xterm', NO_COLOR: '1' }, ['--help'], [])).includes('\u001b'));
  });
});
