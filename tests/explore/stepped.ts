import type { Database, DatabasePool } from '../../server/platform/database.ts';
import { createHosts } from '../../server/platform/outbound/hosts.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import type { Vault } from '../../server/vault/vault.ts';
import type { Loss, Machine, Scheduler } from './scheduler.ts';
import { scheduledTime } from './timers.ts';

/** The database, the vault and a webhook receiver. Every call to them is a step that can be lost. */

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');

/** The first words of a statement, for the trace. */
const nameOf = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 60);

export interface SteppedPool extends DatabasePool {
  /** Rolls back open transactions, as PostgreSQL does when a client disconnects. */
  abandon(): Promise<void>;
}

type ClaimedRow = {
  readonly reference?: string | null;
  readonly about?: object;
  readonly type?: string;
  readonly happened_at?: Date;
  readonly tries?: number;
};

/**
 * PostgreSQL returns operations and notices that were claimed together in any order, which depends on their random ids. In a
 * schedule it is the order in which their references appeared.
 */
function inOrder<Row extends object>(rows: Row[], scheduler: Scheduler): Row[] {
  const [first] = rows as readonly ClaimedRow[];
  const isClaimed = first && ('valid_until_ms' in first || (first.about !== undefined && first.tries !== undefined));
  if (!isClaimed || rows.length < 2) return rows;
  const number = ({ reference, about }: ClaimedRow): number =>
    scheduler.numberIn(reference ?? JSON.stringify(about ?? {}));
  return rows.toSorted((one: ClaimedRow, other: ClaimedRow) => {
    const byTime = (one.happened_at?.getTime() ?? 0) - (other.happened_at?.getTime() ?? 0);
    return byTime || number(one) - number(other) || (one.type ?? '').localeCompare(other.type ?? '');
  });
}

/** A transaction of the real database between its first and its last step. */
interface OpenTransaction {
  readonly real: Database;
  /** How many statements run in it; one may wait for a lock. */
  statements: number;
  end(how: 'commit' | 'rollback'): Promise<void>;
}

export function steppedPool(
  given: DatabasePool,
  machine: Machine,
  scheduler: Scheduler,
  rewrite: (text: string) => string = (text) => text,
): SteppedPool {
  const real = { ...given, query: ((text, values) => given.query(rewrite(text), values)) as DatabasePool['query'] };
  const open = new Set<OpenTransaction>();

  async function send<Row extends object>(run: () => Promise<Row[]>, fault: Loss | undefined): Promise<Row[]> {
    if (fault === 'lost_before') throw connectionLost();
    const rows = await run();
    if (fault) throw connectionLost();
    return inOrder(rows, scheduler);
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
          scheduler.step(machine, nameOf(text), async (fault) => {
            // Of two statements that are sent at once, the second one goes with the connection of the first.
            if (!open.has(transaction)) throw connectionLost();
            return send(() => within(transaction, () => transaction.real.query<never>(rewrite(text), values)), fault);
          }),
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
    listen: async () => () => undefined,
    rest: () => undefined,
    resume: () => undefined,
    lend: (work) => real.lend(work),
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

/** Within the time in which a processor still accepts a request. */
const lateMs = 45_000;
/** Longer than an operation is reserved for the process that sends it. */
const slowMs = 75_000;
const unknown = { outcome: 'unknown', reason: 'the answer was lost' } as const;
const unreachable = { outcome: 'not_sent', reason: 'the processor cannot be reached' } as const;

interface SteppedVaultOptions {
  readonly machine: Machine;
  /** Carries requests that arrive after their sender gave up. */
  readonly network: Machine;
  readonly scheduler: Scheduler;
  /** Whether the processor of a connection cannot be reached. */
  readonly isAway: (connectionId: string | undefined) => boolean;
  /** Called after a call that may have changed something at a processor. */
  readonly onCall: () => Promise<void>;
}

type Call<Request, Answer> = (request: Request) => Promise<Answer>;
type Named = { readonly companyId: string; readonly connectionId?: string; readonly reference?: string };

/** Each call is a step, and the answer to one that moves money is another: a notice can arrive before it. */
export function steppedVault(real: Vault, { machine, network, scheduler, isAway, onCall }: SteppedVaultOptions): Vault {
  const atItsTime = <Answer>(call: () => Promise<Answer>): Promise<Answer> => scheduledTime.run(scheduler, call);

  const sending =
    <Request extends Named, Answer>(kind: string, call: Call<Request, Answer>): Call<Request, Answer> =>
    async (request) => {
      const label = `${kind} ${scheduler.numberOf(request.reference ?? '')}`;
      const execute = async (): Promise<Answer> => {
        if (isAway(request.connectionId)) return unreachable as Answer;
        const answer = await atItsTime(() => call(request));
        await onCall();
        return answer;
      };
      let isSlow = false;
      const send = async (loss: Loss | undefined): Promise<Answer> => {
        isSlow = loss === 'slow';
        if (loss === 'lost_before') return unknown as Answer;
        if (loss === 'late') {
          void scheduler.step(network, `late ${label}`, execute, { losable: false, afterMs: lateMs });
          return unknown as Answer;
        }
        const answer = await execute();
        return loss === 'lost_after' ? (unknown as Answer) : answer;
      };
      const answer = await scheduler.step(machine, label, send, { toVault: true });
      const options = { losable: false, ...(isSlow ? { afterMs: slowMs } : {}) };
      return scheduler.step(machine, `answer to ${label}`, async () => answer, options);
    };

  const asking =
    <Request extends Named, Answer>(
      kind: string,
      call: Call<Request, Answer>,
      lost: () => Answer,
      isOutgoing = true,
    ): Call<Request, Answer> =>
    async (request) => {
      const label = request.reference === undefined ? kind : `${kind} ${scheduler.numberOf(request.reference)}`;
      let isSlow = false;
      const ask = async (loss: Loss | undefined): Promise<Answer> => {
        isSlow = loss === 'slow';
        if (loss === 'lost_before' || (isOutgoing && isAway(request.connectionId))) return lost();
        const answer = await atItsTime(() => call(request));
        // A lookup can complete what was prepared.
        if (isOutgoing) await onCall();
        return loss === undefined || isSlow ? answer : lost();
      };
      const answer = await scheduler.step(machine, label, ask, { toVault: kind === 'lookup' });
      if (!isSlow) return answer;
      const options = { losable: false, afterMs: slowMs };
      return scheduler.step(machine, `answer to ${label}`, async () => answer, options);
    };

  const failing = (): never => {
    throw new Error('the answer was lost');
  };
  return {
    ...real,
    charge: sending('charge', real.charge),
    authorize: sending('authorization', real.authorize),
    capture: sending('capture', real.capture),
    refund: sending('refund', real.refund),
    void: sending('void', real.void),
    resume: asking('return', real.resume, () => unknown),
    lookup: asking('lookup', real.lookup, () => unknown),
    operations: asking('list', real.operations, failing),
    poll: asking('poll', real.poll, failing),
    release: asking('release', real.release, () => false),
    receive: asking('read a notice', real.receive, failing, false),
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
