import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import { silentLog } from '../../tests/support/silent-log.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { somePlan, someSubscriber, subscribe } from '../../tests/support/subscriptions.ts';
import { eventually } from '../../tests/support/webhooks.ts';
import type { ControlPool } from '../platform/database.ts';
import { announceUse } from '../shards/leases.ts';
import { findDueSoon } from './due-soon.ts';
import { tendShards } from './tend-shards.ts';

/** Workers that share the shards. The jobs are counted only; every shard is the same database. */

let service: TestService;
const times = { beatMs: 50, lookMs: 200, lookAgainMs: 50, waitMs: 100, turnMs: 300, aloneMs: 500 };
const started: { stop(): Promise<void> }[] = [];

before(async () => {
  service = await startTestService();
  await quiet();
});
after(() => service.stop());
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.stop()));
  await service.db.query('TRUNCATE shard_workers, shard_leases, shard_uses');
  await quiet();
});

/** Nothing is due: the service of the tests has no worker that would do it. */
async function quiet(): Promise<void> {
  await service.db.query(`UPDATE subscriptions SET due_at = now() + interval '1 h'`);
  await service.db.query(`UPDATE figure_states SET due_at = now() + interval '1 h'`);
  await service.db.query(`UPDATE mails SET next_attempt_at = NULL`);
  assert.deepEqual(await findDueSoon(service.db, times.lookMs, true), []);
}

interface Tended {
  readonly workerId: string;
  /** The shards that are worked on now. */
  readonly working: Set<string>;
  readonly everWorked: ReadonlySet<string>;
  /** How often each was looked at. */
  readonly looked: ReadonlyMap<string, number>;
  readonly rested: string[];
  stop(): Promise<void>;
}

interface Changes {
  readonly random?: () => number;
  /** Shards that this worker cannot reach. */
  readonly unreached?: readonly string[];
  readonly times?: Partial<typeof times>;
}

function startTending(
  control: ControlPool = service.control,
  names: readonly string[] = ['b', 'c'],
  { random = () => 0.5, unreached = [], times: otherTimes }: Changes = {},
): Tended {
  const looked = new Map<string, number>();
  const everWorked = new Set<string>();
  const working = new Set<string>();
  const rested: string[] = [];
  const shards = names.map((name) => ({
    name,
    db: {
      ...service.db,
      rest: () => void rested.push(name),
      async query<Row extends object>(...statement: Parameters<typeof service.db.query>): Promise<Row[]> {
        looked.set(name, (looked.get(name) ?? 0) + 1);
        if (unreached.includes(name)) throw new Error('unreachable');
        return service.db.query<Row>(...statement);
      },
    },
    seen: { isUp: true },
  }));
  const workerId = randomUUID();
  const tending = tendShards({
    workerId,
    control,
    shards: () => shards,
    use: { hold: () => () => undefined, isUsed: (shard) => working.has(shard) },
    workOn:
      ({ name }) =>
      () => {
        working.add(name);
        everWorked.add(name);
        return {
          hasTurned: () => true,
          async stop() {
            working.delete(name);
          },
        };
      },
    sendsMail: true,
    random,
    log: silentLog,
    times: { ...times, ...otherTimes },
  });
  started.push(tending);
  return { workerId, working, everWorked, looked, rested, stop: tending.stop };
}

const until = (what: string, look: () => boolean | Promise<boolean>): Promise<boolean> =>
  eventually(what, async () => look());

describe('a worker', () => {
  it('does no jobs on a shard where nothing happens, and keeps no connection to it', async () => {
    const worker = startTending();
    await until('it has looked at both', () => new Set(worker.rested).size === 2);
    assert.deepEqual([...worker.working], []);
  });

  it('begins at once when a shard is in use, and ends when it is not any more', async () => {
    const worker = startTending();
    await until('it has looked', () => worker.rested.length > 0);
    await announceUse(service.control, 'b');
    await until('it works on b', () => worker.working.has('b'));
    assert.equal(worker.working.has('c'), false);
    await service.db.query(`UPDATE shard_uses SET used_until = now()`);
    await until('it has ended', () => worker.working.size === 0);
  });

  it('does what is due soon on a shard that rests', async () => {
    const worker = startTending();
    await until('it has looked', () => worker.rested.length > 0);
    const plan = await somePlan(service);
    const { status } = await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
    assert.equal(status, 201);
    await service.db.query(`UPDATE subscriptions SET due_at = now() + interval '50 ms'`);
    await until('it works on both', () => worker.working.size === 2);
    await service.db.query(`UPDATE subscriptions SET due_at = now() + interval '1 h'`);
    await until('it has ended', () => worker.working.size === 0);
  });

  it('ends the hourly turn of a shard where nothing is due', async () => {
    const worker = startTending(service.control, ['b', 'c'], { random: () => 1 });
    await until('both have had their turn', () => worker.everWorked.size === 2);
    await until('both rest', () => worker.working.size === 0);
  });

  it('gives each of many shards its turn while something stays due on all of them', async () => {
    const plan = await somePlan(service);
    await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
    await service.db.query(`UPDATE subscriptions SET due_at = now()`);
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const worker = startTending(service.control, names);
    await until('each was worked on', () => worker.everWorked.size === names.length);
  });

  it('looks at all shards in turn without the control plane', async () => {
    const away: ControlPool = { ...service.control, transaction: () => Promise.reject(new Error('away')) };
    const names = Array.from({ length: 16 }, (_, index) => `s${index}`);
    const plan = await somePlan(service);
    await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
    await service.db.query(`UPDATE subscriptions SET due_at = now()`);
    const worker = startTending(away, names, { times: { aloneMs: 0 } });
    await until('each was looked at twice', () => names.every((name) => (worker.looked.get(name) ?? 0) >= 2));
    const most = Math.max(...worker.looked.values());
    assert.ok(most < 100, `${most} looks at one shard`);
  });

  it('leaves a shard that it does not reach to another worker', async () => {
    const blind = startTending(service.control, ['b'], { unreached: ['b'], times: { lookMs: 60_000 } });
    await until('it has tried', () => (blind.looked.get('b') ?? 0) > 0);
    const plan = await somePlan(service);
    await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
    await service.db.query(`UPDATE subscriptions SET due_at = now()`);
    const worker = startTending(service.control, ['b']);
    await until('the other works on it', () => worker.working.has('b'));
  });

  it('takes a shard back at once when it is used again', async () => {
    const unreached = ['b'];
    const worker = startTending(service.control, ['b'], { unreached, times: { lookMs: 60_000 } });
    const leases = (): Promise<object[]> => service.db.query('SELECT 1 FROM shard_leases');
    await until('it has left it', async () => (worker.looked.get('b') ?? 0) > 0 && (await leases()).length === 0);
    unreached.pop();
    await announceUse(service.control, 'b');
    await until('it works on it', () => worker.working.has('b'));
  });

  it('takes over the shards of one that has died', async () => {
    const state = { isDead: false };
    const control: ControlPool = {
      ...service.control,
      transaction: (work) => (state.isDead ? Promise.reject(new Error('dead')) : service.control.transaction(work)),
    };
    const dead = startTending(control);
    await until('the first looks', () => dead.rested.length > 0);
    const worker = startTending();
    const leasesOf = async (): Promise<number> =>
      new Set(
        (await service.db.query<{ worker_id: string }>('SELECT worker_id FROM shard_leases')).map(
          (row) => row.worker_id,
        ),
      ).size;
    await until('both have leases', async () => (await leasesOf()) === 2);
    assert.deepEqual(worker.rested, [], 'one worker looks at each shard');
    state.isDead = true;
    await until('one has all leases', async () => {
      // Its last transaction may still be under way.
      await service.db.query(`UPDATE shard_workers SET seen_at = now() - interval '1 min' WHERE id = $1`, [
        dead.workerId,
      ]);
      return (await leasesOf()) === 1;
    });
    await until('it looks at both', () => new Set(worker.rested).size === 2);
  });

  it('works on every shard once the control plane has been away for long', async () => {
    const away: ControlPool = {
      ...service.control,
      transaction: async () => {
        throw new Error('away');
      },
      query: async () => {
        throw new Error('away');
      },
    };
    const worker = startTending(away);
    await until('it has looked at both', () => new Set(worker.rested).size === 2);
  });
});
