import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort, listen } from '../../tests/support/listen.ts';
import { eventually } from '../../tests/support/webhooks.ts';
import { answersItself, openServiceManager } from './service-manager.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-notify-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const well = async (): Promise<boolean> => true;

/** Takes the place of `systemd-notify`: writes its signs to a file. */
async function program(): Promise<{ environment: NodeJS.ProcessEnv; signs: () => Promise<string[]> }> {
  const file = join(folder, 'signs');
  await writeFile(file, '');
  await writeFile(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $1" >> '${file}'\n`);
  await chmod(join(folder, 'systemd-notify'), 0o755);
  const PATH = `${folder}:${process.env['PATH']}`;
  return {
    environment: { PATH, NOTIFY_SOCKET: '/run/socket', WATCHDOG_USEC: '30000', WATCHDOG_PID: '1' },
    signs: async () => (await readFile(file, 'utf8')).trim().split('\n'),
  };
}

describe('signs to systemd', () => {
  it('say that the service is ready, well, and stopping, and no child inherits their socket', async () => {
    const { environment, signs } = await program();
    const manager = openServiceManager(environment, assert.fail);
    assert.deepEqual(Object.keys(environment), ['PATH']);
    manager.ready(well);
    await eventually('the watchdog got two signs', async () => (await signs()).join().split('WATCHDOG=1').length > 2);
    manager.stopping();
    await eventually('it stops', async () => (await signs()).at(-1) === '/run/socket STOPPING=1');
    assert.equal((await signs()).filter((sign) => sign === '/run/socket READY=1').length, 1);
  });

  it('do not reach the watchdog while the process is not well', async () => {
    const { environment, signs } = await program();
    let asked = 0;
    openServiceManager(environment, assert.fail).ready(async () => {
      asked += 1;
      return false;
    });
    await eventually('it was asked', async () => asked > 3);
    assert.deepEqual(await signs(), ['/run/socket READY=1']);
  });

  it('are left out without a socket, and are a warning without the program', async () => {
    const problems: string[] = [];
    const alone = openServiceManager({ PATH: process.env['PATH'] }, (problem) => problems.push(problem));
    alone.ready(well);
    alone.stopping();
    const missing = openServiceManager({ PATH: '/nowhere', NOTIFY_SOCKET: '/run/x' }, (one) => problems.push(one));
    missing.ready(well);
    missing.stopping();
    await eventually('it warns', async () => problems.length > 0);
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0] ?? '', /^systemd-notify cannot be started: .*ENOENT/);
  });

  const isThere = ['systemd-notify', 'python3'].every((name) => spawnSync(name, ['--version']).status === 0);
  it('arrive at a socket, where systemd-notify and python3 are present', { skip: !isThere }, async (t) => {
    const NOTIFY_SOCKET = join(folder, 'socket');
    const receive = `import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(${JSON.stringify(NOTIFY_SOCKET)})
print('bound', flush=True)
while True: print(s.recv(4096).decode(), flush=True)`;
    const receiver = spawn('python3', ['-c', receive], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => receiver.kill());
    let received = '';
    receiver.stdout.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    await eventually('it listens', async () => received.includes('bound'));
    const environment = { PATH: process.env['PATH'], NOTIFY_SOCKET, WATCHDOG_USEC: '300000' };
    const manager = openServiceManager(environment, assert.fail);
    manager.ready(well);
    await eventually('two signs arrive', async () => /READY=1/.test(received) && /WATCHDOG=1/.test(received));
    manager.stopping();
    await eventually('it stops', async () => received.includes('STOPPING=1'));
  });
});

describe('a process', () => {
  it('is well while it answers on its own port, with any status', async (t) => {
    const server = createServer((_request, response) => response.writeHead(503).end());
    const { port } = new URL(await listen(server));
    t.after(() => server.close());
    assert.equal(await answersItself('0.0.0.0', Number(port))(), true);
    assert.equal(await answersItself('127.0.0.1', await freePort())(), false);
  });
});
