import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createResolve, type Resolve } from './resolve.ts';

/** A server of names: it knows `good.…`, says that it does not know `unknown….…`, and is silent about all others. */
let server: Socket;
let servers: string[];
let questions: string[] = [];

const nameOf = (question: Buffer): string => {
  const labels: string[] = [];
  for (let at = 12; question[at]; at += 1 + (question[at] ?? 0)) {
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)));
  }
  return labels.join('.');
};

function answerTo(question: Buffer, name: string): Buffer | undefined {
  const end = 12 + name.length + 2 + 4;
  const [answer, isA] = [Buffer.from(question.subarray(0, end)), question.readUInt16BE(end - 4) === 1];
  const knows = name.startsWith('good.') && isA;
  answer.writeUInt16BE(name.startsWith('unknown') ? 0x8183 : 0x8180, 2);
  answer.writeUInt16BE(knows ? 1 : 0, 6);
  answer.writeUInt32BE(0, 8);
  if (knows) return Buffer.concat([answer, Buffer.from('c00c00010001000000000004cb007107', 'hex')]);
  return name.startsWith('good.') || name.startsWith('unknown') ? answer : undefined;
}

before(async () => {
  server = createSocket('udp4', (question, { port, address }) => {
    const name = nameOf(question);
    questions.push(name);
    const answer = answerTo(question, name);
    if (answer) server.send(answer, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  servers = [`127.0.0.1:${server.address().port}`];
});
after(() => server.close());
beforeEach(() => {
  questions = [];
});

/** Stands for the look-up of the system, which takes its time. */
function slowSystem(): { readonly system: Resolve; readonly asked: string[]; most: () => number } {
  const asked: string[] = [];
  let [running, most] = [0, 0];
  const system: Resolve = async (name) => {
    asked.push(name);
    running += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
    return [{ address: '10.1.2.3', family: 4 }];
  };
  return { system, asked, most: () => most };
}

describe('a host name that a merchant chose', () => {
  it('is asked of DNS, not of the system', async () => {
    const { system, asked } = slowSystem();
    const resolve = createResolve({ servers, system });
    assert.deepEqual(await resolve('good.example.com'), [{ address: '203.0.113.7', family: 4 }]);
    assert.deepEqual(asked, []);
  });

  it('does not block the system when its servers are silent, and is resolved once for many requests', async () => {
    const { system, asked } = slowSystem();
    const resolve = createResolve({ servers, system, timeoutMs: 250 });
    const silent = Array.from({ length: 40 }, (_, index) => resolve(`silent${index % 4}.example.com`));
    const outcomes = Promise.allSettled(silent);
    assert.deepEqual(await resolve('good.example.com'), [{ address: '203.0.113.7', family: 4 }]);
    assert.equal(new Set(questions).size, 5);
    assert.ok(questions.length <= 4 * 2 + 2, `${questions.length} questions`);
    for (const outcome of await outcomes) {
      assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'EAI_AGAIN');
    }
    assert.deepEqual(asked, []);
  });

  it('that DNS does not know is one the system may know, asked one at a time', async () => {
    const { system, asked, most } = slowSystem();
    const resolve = createResolve({ servers, system });
    const names = [...Array.from({ length: 5 }, (_, index) => `unknown${index}.example.com`), 'inside'];
    for (const found of await Promise.all(names.map(resolve))) {
      assert.deepEqual(found, [{ address: '10.1.2.3', family: 4 }]);
    }
    assert.deepEqual(asked.toSorted(), names.toSorted());
    assert.equal(most(), 1);
    assert.ok(!questions.includes('inside'));
  });

  it('is this machine where it says so, even while others wait', async () => {
    const never = new Promise<never>(() => undefined);
    const system: Resolve = (name) => (name === 'localhost' ? Promise.resolve([]) : never);
    const resolve = createResolve({ servers, system });
    void resolve('inside');
    assert.deepEqual(await resolve('localhost'), []);
    assert.deepEqual(questions, []);
  });
});
