import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startSvc, svc } from '../tests/support/command.ts';
import { cloneDatabase } from '../tests/support/database.ts';
import { programPath } from '../tests/support/programs.ts';
import { eventually } from '../tests/support/webhooks.ts';
import { commands, optionsOf } from './commands.ts';
import { options } from './options.ts';
import { programVersion } from '../server/platform/version.ts';
import { commandHelp, overview } from './help.ts';
import { closest } from '../server/platform/suggest.ts';
import { readyUrl } from '../tests/support/ready.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

describe('help', () => {
  test('lists every command, and the options of each command', async () => {
    const { stdout, code } = await svc({}, '--help');
    assert.equal(code, 0);
    assert.equal(stdout, overview());
    for (const command of commands) {
      const [first = '', ...rest] = command.name.split(' ');
      const line = command.fields
        ? new RegExp(`^  ${first} .*\\b${rest.join(' ')}(,|$)`, 'm')
        : new RegExp(`^  ${command.name}`, 'm');
      assert.match(stdout, line);
      const help = commandHelp(command);
      for (const option of command.options ?? []) assert.ok(help.includes(`--${option}`), command.name);
    }
    assert.match((await svc({}, 'listen', '--help')).stdout, /--forward-to URL/);
    assert.match((await svc({}, 'keys', '--help')).stdout, /svc keys revoke ID/);
    assert.equal((await svc({}, 'help', 'listen')).stdout, (await svc({}, 'listen', '--help')).stdout);
  });

  test('names the version of the program', async () => {
    for (const word of ['--version', 'version']) {
      assert.deepEqual(await svc({}, word), { stdout: `svc ${programVersion}\n`, stderr: '', code: 0 });
    }
  });

  test('accepts every option at a command', () => {
    const accepted = new Set<string>(['version', ...commands.flatMap(optionsOf)]);
    assert.deepEqual(
      Object.keys(options).filter((name) => !accepted.has(name)),
      [],
    );
  });

  test('can load every command', async () => {
    for (const { name, load } of commands) assert.equal(typeof (await load()), 'function', name);
  });
});

/** The fastest of some runs, because other tests use the processor too. */
async function startMs(...parameters: string[]): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < 5; at += 1) {
    const begun = performance.now();
    await run(process.execPath, parameters).catch(() => undefined);
    times.push(performance.now() - begun);
  }
  return Math.min(...times);
}

test('a command starts about as fast as Node itself', async () => {
  const node = await startMs('--eval', '0');
  const away = ['--base-url', '127.0.0.1:1', '--key', 'k'];
  for (const words of [['--version'], ['--help'], ['customers', 'list', ...away]]) {
    const started = await startMs(programPath('svc'), ...words);
    assert.ok(started < 3.5 * node + 50, `svc ${words.join(' ')}: ${started} ms, and Node alone ${node} ms`);
  }
});

describe('a mistake', () => {
  const mistakes: readonly (readonly [string[], RegExp, Record<string, string>?])[] = [
    [['kyes'], /Unknown command "kyes"\. Did you mean svc keys\?/],
    [['lisen'], /Unknown command "lisen"\. Did you mean svc listen\?/],
    [['keys', 'craete'], /Unknown command "keys craete"\. Did you mean keys create\?/],
    [['keys'], /incomplete\. Available commands: keys create, keys list, keys revoke/],
    [['listen', '--forward-too', 'x'], /svc listen has no option --forward-too\. Did you mean --forward-to\?/],
    [['listen', '--days', '1'], /svc listen has no option --days\. Its options: --forward-to/],
    [['nonsense-entirely'], /Unknown command "nonsense-entirely"\. `svc --help`/],
    [['completion', 'cmd'], /Choose a shell/],
    [['doctor', 'please'], /Unexpected argument: please\. Usage: svc doctor\./],
    [['trigger', 'order.failed', 'twice'], /Unexpected argument: twice\. Usage: svc trigger EVENT\./],
    [['orders', 'chargeback', 'HATNTUA3'], /"HATNTUA3" is not an ID\. Use orders chargeback ID\./],
    [['orders', 'chargeback'], /The ID is missing\. Use orders chargeback ID\./],
    [['orders', 'void'], /The ORDER_ID is missing\. Use svc orders void ORDER_ID\./],
    [['subscriptions', 'pause', 'x'], /"x" is not an ID\. Use subscriptions pause ID\./],
    [['clock', 'advanse', '1', 'month'], /Unexpected argument: advanse\. Did you mean clock advance\?/],
    [['trigger', 'order.succeded'], /Unknown event order\.succeded\. Did you mean order\.succeeded\?/],
    [['clock', 'advance', '1', 'month', '1', 'month'], /number of months only once/],
    [['clock', 'advance', '1', 'constructor'], /"constructor" is not a unit/],
    [['clock', 'advance', '1', 'moon'], /"moon" is not a unit\. Units are months, days, hours, minutes, seconds\./],
    [['clock', 'advance', '1', 'dyas'], /"dyas" is not a unit\. Did you mean days\?/],
    [['clock', 'advance', 'one', 'month'], /"one" is not a whole number or a time/],
    [['clock', 'advance', '1'], /The unit after 1 is missing/],
    [['get'], /A path is required/],
    [['get', 'http://x/v1/plans'], /address as --base-url/],
    [['orders', 'list', '--limit', '0'], /--limit must be a whole number from 1/],
    [['events', 'resend'], /The ID of the event is missing/],
    [['orders', 'list', '--profile', 'shop'], /There is no profile "shop"/],
    [['webhooks', 'check', 'ftp://localhost/hook', '--secret', 'whsec_AAAA'], /not a URL/],
    [['doctor'], /cannot be used: .*ECONNREFUSED/, { DATABASE_URL: 'postgres://x:y@127.0.0.1:1/z' }],
    [['keys', 'list', '--json'], /cannot be used: .*ENOTFOUND/, { DATABASE_URL: 'postgres://x:y@svc.invalid/z' }],
  ];
  for (const [parameters, hint, settings] of mistakes) {
    test(`is explained: ${parameters.join(' ')}`, async () => {
      const environment = { SVC_URL: '127.0.0.1:1', SVC_KEY: 'svc_test_sk_x', SVC_MASTER_SECRET: 'x'.repeat(32) };
      const { code, stderr, stdout } = await svc({ ...environment, ...settings }, ...parameters);
      // Only what depends on a running database is not a mistake in the command itself.
      assert.deepEqual([code, stdout], [settings ? 1 : 2, '']);
      assert.match(stderr, hint);
      assert.ok(!stderr.includes('    at '), stderr);
    });
  }

  test('is JSON with --json', async () => {
    const { stderr } = await svc({}, 'lisen', '--json');
    assert.match(JSON.parse(stderr).error.message, /Did you mean/);
  });

  test('leads to a suggestion only if a command is similar', () => {
    assert.equal(closest('tsatr', ['start', 'listen']), undefined);
    assert.equal(closest('statr', ['start', 'listen']), 'start');
    assert.equal(closest('kyes', ['keys', 'plans']), 'keys');
    assert.equal(closest('star', ['start', 'listen']), 'start');
    assert.equal(closest('customer.create', ['customer.created']), 'customer.created');
  });
});

describe('completion', () => {
  test('in bash offers commands, actions and options', async () => {
    const complete = async (...words: string[]): Promise<string[]> => {
      const script = `source <("$0" cli/svc.ts completion bash); COMP_WORDS=(svc ${words.map((word) => `'${word}'`).join(' ')});
        COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _svc; echo "\${COMPREPLY[@]}"; complete -p svc`;
      const { stdout } = await run('bash', ['-c', script, process.execPath], { cwd: root });
      const [found = '', ...bound] = stdout.trimEnd().split('\n');
      assert.deepEqual(bound, ['complete -o default -F _svc svc']);
      return found.split(' ');
    };
    assert.deepEqual(await complete('li'), ['listen']);
    assert.deepEqual(await complete('keys', ''), ['create', 'list', 'revoke']);
    assert.deepEqual(await complete('keys', 'create', '--e'), ['--expires-in']);
    assert.deepEqual(await complete('listen', '--f'), ['--forward-to', '--from-cursor']);
    assert.deepEqual(await complete('listen', '--json', '--c'), ['--customer']);
    assert.deepEqual(await complete('completion', 'f'), ['fish']);
    assert.deepEqual(await complete('keys', 'create', '--kind', ''), ['secret', 'publishable']);
    assert.deepEqual(await complete('keys', 'create', '--name', ''), ['']);
    assert.deepEqual(await complete('products', 'images', 'u'), ['upload']);
    assert.deepEqual(await complete('customers', 'update', 'ID', '--first'), ['--first-name']);
    assert.deepEqual(await complete('payment-methods', 'capture', '--card.n'), ['--card.number']);
    assert.deepEqual(await complete('orders', 'list', '--status', 'f'), ['failed']);
    assert.deepEqual(await complete('webhook-endpoints', 'create', '--enabled-events', 'order.suc'), [
      'order.succeeded',
    ]);
  });

  test('in zsh and fish names every command', async () => {
    const fish = (await svc({}, 'completion', 'fish')).stdout;
    const zsh = (await svc({}, 'completion', 'zsh')).stdout;
    for (const { name } of commands) {
      const words = name.split(' ');
      assert.ok(fish.includes(`'${name}'`) && fish.includes(`'${words.at(-1)}\t`), name);
      assert.ok(zsh.includes(`"${name}"`), name);
    }
  });
});

const without = (shell: string): string | false =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, shell)))
    ? false
    : `${shell} is not installed`;

describe('completion in a real shell', () => {
  test('works in fish', { skip: without('fish') }, async () => {
    const complete = async (line: string): Promise<string[]> => {
      const script = `$argv[1] cli/svc.ts completion fish | source; complete -C ${JSON.stringify(line)}`;
      const { stdout } = await run('fish', ['--no-config', '-c', script, process.execPath], { cwd: root });
      return stdout
        .split('\n')
        .map((found) => found.split('\t')[0] ?? '')
        .filter((word) => word !== '');
    };
    assert.deepEqual(await complete('svc li'), ['listen']);
    assert.deepEqual(await complete('svc keys '), ['create', 'list', 'revoke']);
    assert.deepEqual(await complete('svc keys create --e'), ['--expires-in']);
    assert.deepEqual(await complete('svc keys create --company live --kind '), ['publishable', 'secret']);
    assert.deepEqual(await complete('svc listen --events '), []);
    assert.deepEqual(await complete('svc products images u'), ['upload']);
    assert.deepEqual(await complete('svc customers update ID --first'), ['--first-name']);
    assert.deepEqual(await complete('svc coupons create --kind '), ['generated', 'promo']);
  });

  test('works in a zsh without a configuration', { skip: without('zsh') }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-zsh-'));
    const said = `svc() { print -r -- "called svc $* and ended" }
      zle-line-init() { print -r -- listening }; zle -N zle-line-init`;
    await writeFile(join(folder, 'svc.zsh'), `${(await svc({}, 'completion', 'zsh')).stdout}\n${said}\n`);
    // Typed into a pseudo-terminal, because zsh completes only in a terminal.
    const script = `zmodload zsh/zpty; zpty shell 'zsh -f -i'
      zpty -w shell "PS1=; source $1/svc.zsh"
      zpty -r shell seen '*listening*'
      for part in "\${(@s:_:)2}"; do zpty -n -w shell "$part"$'\\t'; sleep 0.3; done
      zpty -n -w shell $'\\n'
      zpty -r shell seen '*called*and ended*' && print -r -- "$seen"`;
    // A tab and a pause follow each part, because zsh treats fast input as pasted text.
    const called = async (line: string): Promise<string | undefined> => {
      const environment = { env: { ...process.env, HOME: folder, TERM: 'dumb' }, timeout: 20_000 };
      const { stdout } = await run('zsh', ['-f', '-c', script, 'zsh', folder, line], environment);
      return /called (.*?) *and ended/.exec(stdout)?.[1];
    };
    try {
      assert.equal(await called('svc li'), 'svc listen');
      assert.equal(await called('svc keys cr_--ki_pu'), 'svc keys create --kind publishable');
      assert.equal(await called('svc payment-methods cap_--card.n_'), 'svc payment-methods capture --card.number');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('the command of the sources', () => {
  test('is run by npx in this folder', async () => {
    const child = spawn('npx', ['--no-install', '@svc-payments/cli', 'completion', 'bash'], { cwd: root });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    await once(child, 'close');
    assert.match(output, /_svc\(\)/);
  });

  test('start runs the service like npm start, until it is stopped', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-start-'));
    const database = await cloneDatabase(1);
    const settings = {
      SVC_DATA_DIR: folder,
      PORT: '0',
      DATABASE_URL: database.connectionString,
      SVC_MASTER_SECRET: 'a master secret of this test, long enough',
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_DEMO: 'empty',
    };
    const service = startSvc(settings, 'start');
    const baseUrl = await eventually('it is ready', async () => readyUrl(service.output()), 30_000);
    const { secret_key: key } = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8')) as { secret_key: string };
    assert.ok(!service.output().includes(key), 'no key in the output of a program that is not at a terminal');
    for (const path of ['/v1/events/feed', '/v1/products']) {
      const answer = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(answer.status, 200, path);
    }
    await eventually('it is logged', async () => service.output().includes('"http.route":"/v1/products"'));
    assert.ok(!service.output().includes('"http.route":"/v1/events/feed"'), 'polling for events is not logged');
    assert.equal(await service.end(), 0, service.output());
    await assert.rejects(fetch(`${baseUrl}/healthz`), 'the service has stopped');

    const wrong = startSvc({ ...settings, PORT: 'nowhere' }, 'start');
    const [code] = (await once(wrong.child, 'close')) as [number];
    assert.equal(code, 78);
    assert.match(wrong.output(), /PORT must be a whole number/);
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
});
