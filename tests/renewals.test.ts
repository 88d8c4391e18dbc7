import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { maintainPartitions } from '../server/features/events/jobs.ts';
import { type Crowd, openCrowd, subscribeSome } from './renewals/crowd.ts';
import { verify } from './renewals/verify.ts';
import { capture } from './support/orders.ts';
import { startTestService, type TestService } from './support/service.ts';
import { programPath } from './support/programs.ts';

/**
 * Months pass for many subscriptions, billed by workers of which some are killed over and over, while people retry declined
 * orders by hand and bring new cards. `SVC_RENEWALS=2000x36` is 2,000 subscriptions and 36 months with four workers.
 */

const [count = 20, months = 2] = (process.env.SVC_RENEWALS ?? '').split('x').filter(Boolean).map(Number);
const long = process.env.SVC_RENEWALS !== undefined;
const [steady, doomed] = long ? [2, 2] : [1, 1];
const timeout = long ? 3_600_000 : 100_000;
const dayMs = 86_400_000;
const program = programPath('main');

let service: TestService;
let crowd: Crowd;
const workers = new Set<ChildProcess>();
let kills = 0;

function startWorker(): ChildProcess {
  const { database, config } = service;
  const worker = spawn(process.execPath, [program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      SVC_ROLES: 'worker,vault',
      SVC_LOG_LEVEL: 'error',
      SVC_DATA_DIR: config.dataDir,
      // That of the test's own service.
      SVC_MASTER_SECRET: '\u0007'.repeat(32),
      DATABASE_URL: database.connectionString,
    },
  });
  workers.add(worker);
  return worker;
}

async function end(worker: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const gone = once(worker, 'exit');
  workers.delete(worker);
  if (worker.kill(signal)) await gone;
}

before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_CAPTURE: 'off' } });
  await maintainPartitions(service.db);
  crowd = await openCrowd(service);
});
after(async () => {
  for (const worker of workers) await end(worker, 'SIGKILL');
  await service.stop();
});

async function number(statement: string): Promise<number> {
  const [row] = await service.db.query<{ number: number }>(statement, [crowd.company.id]);
  return row?.number ?? 0;
}

const clockMs = async (): Promise<number> =>
  Date.now() + (await number('SELECT clock_offset_ms AS number FROM companies WHERE id = $1'));

/** Writes to the database directly, so that only the workers act on what falls due. */
async function moveClock(byMs: number): Promise<void> {
  await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1', [
    crowd.company.id,
    byMs,
  ]);
  await service.db.query(`SELECT pg_notify('subscriptions_due', '')`);
}

const dueCount = (): Promise<number> =>
  number(`SELECT count(*)::integer AS number FROM subscriptions s JOIN companies c ON c.id = s.company_id
    WHERE s.company_id = $1 AND s.due_at <= now() + c.clock_offset_ms * interval '1 ms'`);
const openCount = (): Promise<number> =>
  number('SELECT count(*)::integer AS number FROM open_transactions WHERE company_id = $1');

/** As people do: a declined order is tried again by hand, or a new card is brought. */
async function meddle(stopped: AbortSignal): Promise<{ retried: number; recovered: number; cards: number }> {
  const done = { retried: 0, recovered: 0, cards: 0 };
  const { key } = crowd;
  while (!stopped.aborted) {
    const failed = await service.db.query<{ id: string; customer_id: string }>(
      `SELECT o.id, o.customer_id FROM orders o JOIN subscriptions s ON s.company_id = o.company_id AND s.id = o.subscription_id
       WHERE o.company_id = $1 AND o.rare_status = 'failed' AND s.status IN ('past_due', 'failed') ORDER BY random() LIMIT 4`,
      [crowd.company.id],
    );
    for (const [index, { id, customer_id }] of failed.entries()) {
      if (index === 0) {
        await capture(service, customer_id, '4242424242424242', {
          key,
          body: {
            customer_id,
            card: { number: '4242424242424242', exp_month: '12', exp_year: '2099', cvc: '999' },
            update_subscriptions: true,
          },
        });
        done.cards += 1;
      }
      const reply = await service.call('POST', `/v1/orders/${id}/retry`, { key });
      assert.ok([200, 400, 409, 502].includes(reply.status), reply.text);
      done.retried += 1;
      if (reply.body.status === 'succeeded') done.recovered += 1;
    }
    await sleep(long ? 100 : 60);
  }
  return done;
}

async function killAgain(stopped: AbortSignal): Promise<void> {
  const victims = Array.from({ length: doomed }, startWorker);
  while (!stopped.aborted) {
    await sleep(1_500 + 500 * (kills % 4));
    const [oldest] = victims.splice(0, 1);
    if (oldest) await end(oldest, 'SIGKILL');
    kills += 1;
    victims.push(startWorker());
  }
}

describe(`${count} subscriptions over ${months} months`, { timeout }, () => {
  it('are charged once for each cycle and none is missing, though workers die', { timeout }, async () => {
    const startedMs = Date.now();
    // A 20 December, so that the 31st, a leap day and the ends of years are on the way.
    await moveClock(Date.UTC(2027, 11, 20, 9) - (await clockMs()));
    for (let n = 0; n < steady; n += 1) startWorker();
    const stopping = new AbortController();
    const meddling = meddle(stopping.signal);
    const killing = killAgain(stopping.signal);
    try {
      await passTime();
    } finally {
      stopping.abort();
      await killing;
    }
    const meddled = await meddling;
    await drained();
    const verdict = await verify(service.db, crowd.company.id, await clockMs());
    const seconds = (Date.now() - startedMs) / 1_000;
    const statuses = JSON.stringify(verdict.statuses);
    process.stdout.write(
      `${verdict.paid} charges, ${verdict.total} cents, ${kills} kills, ${meddled.retried} retries by hand ` +
        `(${meddled.recovered} in time), ${meddled.cards} new cards, ${seconds.toFixed(0)} s, ${statuses}\n`,
    );
    assert.deepEqual(verdict.problems, []);
    assert.ok(verdict.paid > count);
  });
});

async function passTime(): Promise<void> {
  const days = 14;
  const group = Math.ceil(count / days);
  for (let today = 0; today < days; today += 1) {
    await subscribeSome(service, crowd, today * group, Math.min(group, Math.max(0, count - today * group)));
    await moveClock(dayMs);
  }
  const endMs = Date.UTC(2027, 11, 20 + days, 9) + months * 30.5 * dayMs;
  while ((await clockMs()) < endMs) {
    await moveClock(dayMs);
    while ((await dueCount()) > count / 40) await sleep(10);
  }
}

async function drained(): Promise<void> {
  // Charges whose answer is lost each time are seconds late, cycle by cycle.
  const deadlineMs = Date.now() + (long ? 600_000 : 60_000);
  while ((await dueCount()) + (await openCount()) > 0) {
    assert.ok(Date.now() < deadlineMs, `${await dueCount()} due and ${await openCount()} open stay so`);
    await sleep(50);
  }
}
