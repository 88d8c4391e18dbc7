import type { Database, DatabasePool, Queryable } from '../../server/platform/database.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import type { Vault } from '../../server/vault/vault.ts';
import { type Loss, type Machine, running, type Scheduler } from './scheduler.ts';

/** The database, the vault and a webhook receiver. Every call to them is a step that can be lost. */

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');

/** The first words of a statement, for the trace. */
const nameOf = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 60);

export interface SteppedPool extends DatabasePool {
  /** Rolls back open transactions, as PostgreSQL does when a client disconnects. */
  abandon(): Promise<void>;
}

export function steppedPool(real: DatabasePool, machine: Machine, scheduler: Scheduler): SteppedPool {
  const open = new Set<(how: 'rollback') => void>();

  const query =
    (target: Queryable): Queryable['query'] =>
    (text, values) =>
      scheduler.step(machine, nameOf(text), async (fault) => {
        if (fault === 'lost_before') throw connectionLost();
        const rows = await target.query<never>(text, values);
        if (fault) throw connectionLost();
        return rows;
      });

  async function begin(): Promise<{ transaction: Database; end: (how: 'commit' | 'rollback') => Promise<void> }> {
    const opened = Promise.withResolvers<Database>();
    const decided = Promise.withResolvers<'commit' | 'rollback'>();
    const rolledBack = new Error('rolled back');
    const done = real.transaction(async (transaction) => {
      opened.resolve(transaction);
      if ((await decided.promise) === 'rollback') throw rolledBack;
    });
    done.catch(opened.reject);
    open.add(decided.resolve);
    const end = async (how: 'commit' | 'rollback'): Promise<void> => {
      open.delete(decided.resolve);
      decided.resolve(how);
      await done.catch((error: unknown) => {
        if (error !== rolledBack) throw error;
      });
    };
    return { transaction: await opened.promise, end };
  }

  return {
    query: query(real),
    async transaction(work) {
      const { transaction, end } = await scheduler.step(machine, 'begin', async (fault) => {
        if (fault) throw connectionLost();
        return begin();
      });
      const inner: Database = { query: query(transaction), transaction: (more) => more(inner) };
      try {
        const result = await work(inner);
        await scheduler.step(machine, 'commit', async (fault) => {
          if (fault === 'lost_before') throw connectionLost();
          await end('commit');
          if (fault) throw connectionLost();
        });
        return result;
      } catch (error) {
        await running.exit(() => end('rollback'));
        throw error;
      }
    },
    // Notifications only speed things up; without them the timers find the work.
    listen: async () => undefined,
    stats: () => real.stats(),
    ping: (withinMs) => real.ping(withinMs),
    abort: () => undefined,
    close: async () => undefined,
    async abandon() {
      for (const decide of open) decide('rollback');
      open.clear();
    },
  };
}

type Call<Request, Answer> = (request: Request) => Promise<Answer>;
/** Within the time in which the acquirer still accepts a request. */
const lateMs = 45_000;
const unknown = { outcome: 'unknown', reason: 'the answer was lost' } as const;

/** `network` carries requests that arrive after their sender gave up. */
export function steppedVault(real: Vault, machine: Machine, network: Machine, scheduler: Scheduler): Vault {
  const stepped =
    <Request, Answer>(label: string, call: Call<Request, Answer>): Call<Request, Answer | typeof unknown> =>
    (request) => {
      const send = async (loss: Loss | undefined): Promise<Answer | typeof unknown> => {
        if (loss === 'lost_before') return unknown;
        if (loss === 'late') {
          const options = { losable: false, afterMs: lateMs };
          void scheduler.step(network, `late ${label}`, () => call(request), options);
          return unknown;
        }
        const answer = await call(request);
        return loss === 'lost_after' ? unknown : answer;
      };
      return scheduler.step(machine, label, send, { toVault: true });
    };
  return {
    ...real,
    charge: stepped('charge', real.charge),
    refund: stepped('refund', real.refund),
    void: stepped('void', real.void),
    lookup: stepped('lookup', real.lookup),
  };
}

/** A receiver that accepts every event, if the request arrives. */
export function steppedOutbound(machine: Machine, scheduler: Scheduler, received: (body: string) => void): Outbound {
  return {
    post: (request) =>
      scheduler.step(machine, 'deliver a webhook', async (fault) => {
        if (fault !== 'lost_before') received(request.body);
        if (fault) return { answered: false, error: 'no answer' };
        return { answered: true, status: 200, body: '', retryAfter: undefined };
      }),
    resolve: async () => [],
    close: async () => undefined,
  };
}
