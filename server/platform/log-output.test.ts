import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { openLogOutput } from './log-output.ts';

/** A log that cannot be written costs lines and nothing else. */

const failure = (code: string): Error => Object.assign(new Error(code), { code });

describe('the output of the log', () => {
  /** A device that takes what the test lets it, and keeps it. */
  function scene(steps: (number | string)[]) {
    const taken: string[] = [];
    const lost: number[] = [];
    const output = openLogOutput(
      (count) => {
        lost.push(count);
        output.write(`lost ${count}\n`);
      },
      (bytes) => {
        const step = steps.shift() ?? bytes.length;
        if (typeof step === 'string') throw failure(step);
        const part = bytes.subarray(0, step);
        taken.push(part.toString());
        return part.length;
      },
    );
    return { output, steps, lost, taken, text: () => taken.join('') };
  }

  it('writes the lines of one turn of the event loop together', async () => {
    const { output, taken } = scene([]);
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
    assert.deepEqual(taken, []);
    await setImmediate();
    assert.deepEqual(taken, ['one\ntwo\nthree\n']);
  });

  it('does not wait for the end of the turn with more than it can keep', () => {
    const { output, text, lost } = scene([]);
    const line = `${'x'.repeat(1_023)}\n`;
    for (let count = 0; count < 1_025; count += 1) output.write(line);
    assert.equal(text().length, 1_048_576);
    assert.deepEqual(lost, []);
  });

  it('has each line, however little the device takes at once', () => {
    const { output, text } = scene([1, 2, 3]);
    output.write('first line\n');
    output.write('second line\n');
    output.flushSync();
    assert.equal(text(), 'first line\nsecond line\n');
  });

  it('keeps lines for a reader that is slow, and has them in order when it reads', async () => {
    const { output, text, lost } = scene([3, 'EAGAIN', 'EAGAIN']);
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
    output.flushSync();
    assert.equal(text(), 'one');
    for (let look = 0; look < 250 && text() === 'one'; look += 1) await sleep(20);
    assert.equal(text(), 'one\ntwo\nthree\n');
    assert.deepEqual(lost, []);
  });

  it('loses what a full disk cannot take, says how much when there is room, and begins a line of its own', () => {
    const { output, text, lost } = scene([2, 'ENOSPC', 'ENOSPC']);
    for (const line of ['one\n', 'two\n']) {
      output.write(line);
      output.flushSync();
    }
    output.write('three\n');
    output.flushSync();
    assert.deepEqual(lost, [2]);
    output.flushSync();
    assert.equal(text(), 'on\nthree\nlost 2\n');
    output.write('four\n');
    output.flushSync();
    assert.equal(text(), 'on\nthree\nlost 2\nfour\n');
  });

  it('keeps a bounded amount for a reader that never reads', () => {
    const { output, steps, lost, text } = scene(['EAGAIN']);
    const line = `${'x'.repeat(1_023)}\n`;
    for (let count = 0; count < 5_000; count += 1) output.write(line);
    steps.length = 0;
    output.flushSync();
    output.flushSync();
    assert.deepEqual(lost, [5_000 - 1_024]);
    assert.equal(text().length, 1_048_576 + `lost ${lost[0]}\n`.length);
  });
});

const logModule = new URL('log.ts', import.meta.url).href;
const program = `
  import { createServer } from 'node:http';
  import { createLog } from ${JSON.stringify(logModule)};
  const log = createLog('info');
  createServer((request, response) => {
    if (request.url === '/throw') setImmediate(() => { throw new Error('cannot go on'); });
    for (let line = 0; line < 500; line += 1) log.info({ pad: 'x'.repeat(1_000) }, 'a line');
    response.end('answered');
  }).listen(0, '127.0.0.1', function () { process.send(this.address().port); });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));`;

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  ask(path: string): Promise<string>;
}

async function run(t: TestContext, output: readonly (number | 'pipe' | 'ignore')[]): Promise<Running> {
  const stdio = ['ignore', ...output, 'ipc'] as const;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: [...stdio] });
  const exited = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const [port] = (await once(child, 'message')) as [number];
  const ask = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5_000) })).text();
  return { child, exited, ask };
}

async function endsWithin(exited: Promise<unknown>, ms: number): Promise<void> {
  const ended = await Promise.race([exited.then(() => true), sleep(ms, false, { ref: false })]);
  assert.ok(ended, `it still runs after ${ms} ms`);
}

function full(t: TestContext): number {
  const device = openSync('/dev/full', 'w');
  t.after(() => closeSync(device));
  return device;
}

describe('a process whose log', { skip: process.platform !== 'linux' }, () => {
  const outputs: Readonly<Record<string, (t: TestContext) => Parameters<typeof run>[1]>> = {
    'is on a full disk': (t) => [full(t), full(t)],
    'goes to a pipe that is not read': () => ['pipe', 'pipe'],
  };
  for (const [what, stdioOf] of Object.entries(outputs)) {
    it(`${what} continues to answer, and stops on request`, async (t) => {
      const { child, exited, ask } = await run(t, stdioOf(t));
      for (let count = 0; count < 5; count += 1) assert.equal(await ask('/'), 'answered');
      child.kill('SIGTERM');
      await endsWithin(exited, 3_000);
      assert.equal(child.exitCode, 0);
    });

    it(`${what} ends when it cannot go on`, async (t) => {
      const { child, exited, ask } = await run(t, stdioOf(t));
      await ask('/throw').catch(() => undefined);
      await endsWithin(exited, 3_000);
      assert.notEqual(child.exitCode, 0);
    });
  }

  it('has lost its reader continues to answer', async (t) => {
    const { child, ask } = await run(t, ['pipe', 'pipe']);
    child.stdout?.destroy();
    for (let count = 0; count < 5; count += 1) assert.equal(await ask('/'), 'answered');
  });
});
