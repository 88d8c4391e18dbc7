import type { Database, DatabasePool } from '../../server/platform/database.ts';
import { createHosts } from '../../server/platform/outbound/hosts.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import type { Vault } from '../../server/vault/vault.ts';
import type { Loss, Machine, Scheduler } from './scheduler.ts';

/** The database, the vault and a webhook receiver. Every call to them is a step that can be lost. */

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');

/** The first words of a statement, for the trace. */
const nameOf = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 60);

export interface SteppedPool extends DatabasePool {
  /** Rolls back open transactions, as PostgreSQL does when a client disconnects. */
  abandon(): Promise<void>;
}

/** A transaction of the real database between its first and its last step. */
interface OpenTransaction {
  readonly real: Database;
  /** How many statements run in it; one may wait for a lock. */
  statements: number;
  end(how: 'commit' | 'rollback'): Promise<void>;
}

export function steppedPool(real: DatabasePool, machine: Machine, scheduler: Scheduler): SteppedPool {
  const open = new Set<OpenTransaction>();

  async function send<Row extends object>(run: () => Promise<Row[]>, fault: Loss | undefined): Promise<Row[]> {
    if (fault === 'lost_before') throw connectionLost();
    const rows = await run();
    if (fault) throw connectionLost();
    return rows;
  }

  async function begin(): Promise<OpenTransaction> {
    const opened = Promise.withResolvers<Database>();
    const decided = Promise.withResolvers<'commit' | 'rollback'>();
    const rolledBack = new Error('rolled back');
    const done = real.transaction(async (transaction) => {
      opened.resolve(transaction);
      if ((await decided.promise) === 'rollback') throw rolledBack;
    });
    done.catch(opened.reject);
    const transaction: OpenTransaction = {
      real: await opened.promise,
      statements: 0,
      async end(how) {
        open.delete(transaction);
        decided.resolve(how);
        await done.catch((error: unknown) => {
          if (error !== rolledBack) throw error;
        });
      },
    };
    open.add(transaction);
    return transaction;
  }

  /** PostgreSQL notices after the running statement that the process has crashed. */
  async function within<Row extends object>(transaction: OpenTransaction, run: () => Promise<Row[]>): Promise<Row[]> {
    transaction.statements += 1;
    try {
      return await run();
    } finally {
      transaction.statements -= 1;
      if (!machine.alive && transaction.statements === 0) await transaction.end('rollback');
    }
  }

  return {
    query: (text, values) =>
      scheduler.step(machine, nameOf(text), (fault) => send(() => real.query<never>(text, values), fault)),
    async transaction(work) {
      const transaction = await scheduler.step(machine, 'begin', async (fault) => {
        if (fault) throw connectionLost();
        return begin();
      });
      const inner: Database = {
        query: (text, values) =>
          scheduler.step(machine, nameOf(text), (fault) =>
            send(() => within(transaction, () => transaction.real.query<never>(text, values)), fault),
          ),
        transaction: (more) => more(inner),
      };
      try {
        const result = await work(inner);
        await scheduler.step(machine, 'commit', async (fault) => {
          if (fault === 'lost_before') throw connectionLost();
          await transaction.end('commit');
          if (fault) throw connectionLost();
        });
        return result;
      } catch (error) {
        if (open.has(transaction))
          await scheduler.step(machine, 'rollback', () => transaction.end('rollback'), { losable: false });
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
      const idle = [...open].filter(({ statements }) => statements === 0);
      await Promise.all(idle.map((transaction) => transaction.end('rollback')));
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
    <Request extends { readonly reference: string }, Answer>(
      kind: string,
      call: Call<Request, Answer>,
    ): Call<Request, Answer | typeof unknown> =>
    (request) => {
      const label = `${kind} ${scheduler.numberOf(request.reference)}`;
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

/** The type of an event, for the trace. */
const typeOf = (body: string): string => (JSON.parse(body) as { type: string }).type;

/** A receiver that accepts every event, if the request arrives. */
export function steppedOutbound(machine: Machine, scheduler: Scheduler, received: (body: string) => void): Outbound {
  const hosts = createHosts();
  return {
    post: (request) =>
      scheduler.step(machine, `deliver ${typeOf(request.body)}`, async (fault) => {
        if (fault !== 'lost_before') received(request.body);
        if (fault) return { answered: false, error: 'no answer' };
        return { answered: true, status: 200, body: '', retryAfter: undefined };
      }),
    resolve: async () => [],
    hostOf: hosts,
    close: async () => undefined,
  };
}
