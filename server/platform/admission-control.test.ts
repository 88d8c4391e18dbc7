import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { type AdmissionControl, createAdmissionControl, type Ticket } from './admission-control.ts';

const busy = new Error('busy');

/** A process with a clock of its own, whose load the test decides. */
function createProcess(lagMsMax = 100) {
  const load = { nowMs: 0, inDatabase: Infinity, utilization: 0.5 };
  const admission = createAdmissionControl({
    inDatabase: () => load.inDatabase,
    utilization: () => load.utilization,
    nowMs: () => load.nowMs,
    lagMsMax,
    refusal: () => busy,
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1) {
      load.nowMs += 1;
      mock.timers.tick(1);
      await Promise.resolve();
    }
  };
  return { load, admission, pass };
}

const isWaiting = (entered: Ticket | Promise<Ticket>): entered is Promise<Ticket> => entered instanceof Promise;

function letIn(entered: Ticket | Promise<Ticket>): Ticket {
  assert.ok(!isWaiting(entered), 'it waits');
  return entered;
}

/** Fills the process with cheap requests of one flow, and returns their tickets. */
function fill(admission: AdmissionControl, flow: string): Ticket[] {
  const tickets: Ticket[] = [];
  while (admission.stats().running < admission.stats().limit) tickets.push(letIn(admission.enter(flow, 1)));
  return tickets;
}

interface Watched {
  state: 'waiting' | 'in' | 'refused';
  ticket?: Ticket;
}

function watch(entered: Ticket | Promise<Ticket>): Watched {
  if (!isWaiting(entered)) return { state: 'in', ticket: entered };
  const watched: Watched = { state: 'waiting' };
  entered.then(
    (ticket) => Object.assign(watched, { state: 'in', ticket }),
    (error: unknown) => {
      assert.equal(error, busy);
      watched.state = 'refused';
    },
  );
  return watched;
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

describe('a process with room', () => {
  test('lets requests in at once, without a promise', () => {
    const { admission } = createProcess();
    const tickets = fill(admission, 'a');
    assert.equal(tickets.length, 64);
    for (const ticket of tickets) admission.leave(ticket, 1);
    assert.deepEqual(admission.stats(), { running: 0, waiting: 0, limit: 64 });
  });

  test('lets in more at once when those inside wait for others', async () => {
    const { admission, load, pass } = createProcess();
    load.inDatabase = 3;
    fill(admission, 'a');
    const more = Array.from({ length: 300 }, () => watch(admission.enter('a', 1)));
    await pass(300);
    assert.ok(more.every(({ state }) => state === 'in'));
  });

  test('lets in everything when it is switched off', () => {
    const { admission } = createProcess(0);
    for (let count = 0; count < 10_000; count += 1) letIn(admission.enter('a', 100));
    assert.equal(admission.isFull('a'), false);
  });
});

describe('a process that is full', () => {
  test('lets the next one in when a request leaves', async () => {
    const { admission } = createProcess();
    const [first] = fill(admission, 'a');
    const next = watch(admission.enter('a', 1));
    await settle();
    assert.equal(next.state, 'waiting');
    if (first) admission.leave(first, 1);
    await settle();
    assert.equal(next.state, 'in');
  });

  test('does not make a flow wait that takes less than its share', async () => {
    const { admission } = createProcess();
    fill(admission, 'hostile');
    for (let count = 0; count < 50; count += 1) watch(admission.enter('hostile', 1));
    for (let count = 0; count < 10; count += 1) letIn(admission.enter('modest', 1));
    await settle();
  });

  test('serves flows in turn, with queues of any length', async () => {
    const { admission } = createProcess();
    const tickets = [...fill(admission, 'x')];
    // Beyond their share, so that both wait.
    for (const flow of ['many', 'few']) for (let n = 0; n < 16; n += 1) tickets.push(letIn(admission.enter(flow, 1)));
    const many = Array.from({ length: 100 }, () => watch(admission.enter('many', 1)));
    const few = Array.from({ length: 10 }, () => watch(admission.enter('few', 1)));
    const count = (all: readonly Watched[]): number => all.filter(({ state }) => state === 'in').length;
    for (const ticket of tickets.slice(0, 60)) admission.leave(ticket, 1);
    await settle();
    assert.equal(count(few), 10);
    assert.ok(count(many) >= 10 && count(many) < 40, `${count(many)} of the many were let in`);
  });

  test('gives a flow whose requests cost more fewer turns', async () => {
    const { admission } = createProcess();
    const running: { ticket: Ticket; cost: number }[] = fill(admission, 'x').map((ticket) => ({ ticket, cost: 1 }));
    const served = { cheap: 0, costly: 0 };
    for (let n = 0; n < 200; n += 1) {
      for (const [flow, cost] of [
        ['cheap', 1],
        ['costly', 5],
      ] as const) {
        void Promise.resolve(admission.enter(flow, 1)).then((ticket) => {
          served[flow] += 1;
          running.push({ ticket, cost });
        });
      }
    }
    await settle();
    for (let n = 0; n < 150; n += 1) {
      const { ticket, cost } = running.shift() ?? assert.fail('nothing runs');
      admission.leave(ticket, cost);
      await settle();
    }
    assert.ok(served.cheap >= 3 * served.costly, JSON.stringify(served));
  });

  test('runs few costly requests of one flow at once, also when there is room', async () => {
    const { admission } = createProcess();
    const costly = Array.from({ length: 5 }, () => watch(admission.enter('a', 20)));
    assert.deepEqual(
      costly.map(({ state }) => state),
      ['in', 'in', 'waiting', 'waiting', 'waiting'],
    );
    letIn(admission.enter('b', 20));
    if (costly[0]?.ticket) admission.leave(costly[0].ticket, 20);
    await settle();
    assert.equal(costly[2]?.state, 'in');
  });

  test('takes a flow for what it came to lately, not for what it announces', async () => {
    const { admission } = createProcess();
    admission.leave(letIn(admission.enter('a', 1)), 40);
    const next = Array.from({ length: 3 }, () => watch(admission.enter('a', 1)));
    assert.deepEqual(
      next.map(({ state }) => state),
      ['in', 'in', 'waiting'],
    );
  });
});

describe('a queue', () => {
  test('waits for no longer than a second', async () => {
    const { admission, pass } = createProcess();
    fill(admission, 'a');
    const waiting = Array.from({ length: 20 }, () => watch(admission.enter('a', 1)));
    await pass(990);
    assert.ok(waiting.every(({ state }) => state === 'waiting'));
    await pass(40);
    assert.ok(waiting.every(({ state }) => state === 'refused'));
    assert.equal(admission.stats().waiting, 0);
  });

  test('is as long as it can be served in half a second, and what comes then is refused at once', async () => {
    const { admission, pass } = createProcess();
    const running = fill(admission, 'a').map((ticket) => watch(ticket));
    const serve = (): void => {
      const [served] = running.splice(
        running.findIndex(({ state }) => state === 'in'),
        1,
      );
      admission.leave(served?.ticket ?? assert.fail('nothing runs'), 1);
    };
    // 250 are served in a second, and 1,000 come.
    for (let ms = 0; ms < 3_000; ms += 1) {
      const entered = watch(admission.enter('a', 1));
      await pass(1);
      if (entered.state !== 'refused') running.push(entered);
      if (ms % 4 === 0) serve();
    }
    assert.ok(Math.abs(admission.stats().waiting - 125) < 20, `${admission.stats().waiting} wait`);
    assert.equal(admission.isFull('a'), true);
    assert.equal(admission.isFull('b'), false);
    const beyond = watch(admission.enter('a', 1));
    await settle();
    assert.equal(beyond.state, 'refused');
  });

  test('leaves room for the queues of others', async () => {
    const { admission } = createProcess();
    fill(admission, 'a');
    const many = Array.from({ length: 600 }, () => watch(admission.enter('a', 1)));
    const others = Array.from({ length: 64 }, () => watch(admission.enter('b', 1)));
    await settle();
    assert.equal(many.filter(({ state }) => state === 'refused').length, 600 - 512);
    assert.equal(others.filter(({ state }) => state === 'refused').length, 0);
    assert.equal(admission.isFull('a'), true);
    assert.equal(admission.isFull('b'), false);
  });
});

describe('the limit', () => {
  test('shrinks while the event loop lags, and grows again', async () => {
    const { admission, load, pass } = createProcess();
    fill(admission, 'a');
    for (let tick = 0; tick < 20; tick += 1) {
      watch(admission.enter('a', 1));
      load.nowMs += 150;
      await pass(20);
    }
    const { limit } = admission.stats();
    assert.ok(limit >= 16 && limit < 30, `the limit is ${limit}`);
    watch(admission.enter('a', 1));
    await pass(900);
    assert.ok(admission.stats().limit > limit);
  });

  test('does not shrink while rejections are what delays the event loop', async () => {
    const { admission, load, pass } = createProcess();
    fill(admission, 'a');
    for (let request = 0; request < 512; request += 1) watch(admission.enter('a', 1));
    for (let tick = 0; tick < 20; tick += 1) {
      for (let request = 0; request < 3_000; request += 1) admission.isFull('a');
      load.nowMs += 150;
      await pass(20);
    }
    assert.ok(admission.stats().limit >= 64, `the limit is ${admission.stats().limit}`);
  });

  test('does not grow when the event loop is busy', async () => {
    const { admission, load, pass } = createProcess();
    load.inDatabase = 0;
    load.utilization = 0.97;
    fill(admission, 'a');
    watch(admission.enter('a', 1));
    await pass(500);
    assert.equal(admission.stats().limit, 64);
  });
});

/** A database that serves this number of requests at once, each in this number of milliseconds. */
test('five times the load costs no more than a tenth of what is served, and refusals come within 100 ms', async () => {
  const { admission, load, pass } = createProcess();
  const atOnce = 20;
  const serviceMs = 20;
  const waitingInside: (() => void)[] = [];
  let served = 0;
  let inside = 0;
  let servedLate = 0;
  const refusedAfterMs: number[] = [];
  const work = (done: () => void): void => {
    inside += 1;
    setTimeout(() => {
      inside -= 1;
      done();
      const next = waitingInside.shift();
      load.inDatabase = inside + waitingInside.length;
      next?.();
    }, serviceMs);
  };
  const arrive = (): void => {
    const atMs = load.nowMs;
    const run = (ticket: Ticket): void => {
      const done = (): void => {
        served += 1;
        if (load.nowMs - atMs > 700) servedLate += 1;
        admission.leave(ticket, 1);
      };
      if (inside < atOnce) work(done);
      else waitingInside.push(() => work(done));
      load.inDatabase = inside + waitingInside.length;
    };
    const entered = admission.enter('a', 1);
    if (isWaiting(entered)) entered.then(run, () => void refusedAfterMs.push(load.nowMs - atMs));
    else run(entered);
  };
  const seconds = 5;
  for (let ms = 0; ms < seconds * 1000; ms += 1) {
    for (let n = 0; n < 5; n += 1) arrive();
    await pass(1);
  }
  const best = (atOnce * 1000) / serviceMs;
  assert.ok(served / seconds > 0.95 * best, `${served / seconds} a second were served, ${best} is the best`);
  assert.equal(servedLate, 0);
  const inTime = refusedAfterMs.filter((ms) => ms <= 100).length / refusedAfterMs.length;
  assert.ok(inTime > 0.95, `${Math.round(inTime * 100)} % of the refusals came within 100 ms`);
});
