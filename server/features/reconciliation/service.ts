import { type Company, connects } from '../../company.ts';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import { dayMs, minuteMs, secondMs } from '../../platform/durations.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ShardDatabase } from '../../shards/shards.ts';
import { allCompanies } from '../companies/service.ts';
import { checkOpenOf } from '../orders/service.ts';
import { companyConnections } from '../processors/service.ts';
import { currentRestore, type Gate, gates, type GateState } from '../restores/service.ts';
import {
  compare,
  type Compared,
  type Comparison,
  type ComparedConnection,
  type ReconcileDependencies,
} from './comparison.ts';
import { countMissing, dismissMissing, findMissing } from './queries.ts';
import type { ReconciliationState } from './schemas.ts';

export type { Comparison, Difference, Missing, ReconcileDependencies } from './comparison.ts';

/** Returns how many operations the books of all companies miss. */
export async function missingOperations(db: Queryable): Promise<number> {
  return countMissing(db);
}

/**
 * Called when an operator has resolved the operation. Returns false if no operation with this reference is missing.
 */
export async function dismissOperation(db: Queryable, reference: string): Promise<boolean> {
  return dismissMissing(db, reference);
}

const shownMax = 100;

/** For the dashboard of a company. */
export async function getState({ db, company }: RequestContext): Promise<ReconciliationState> {
  const gate = connects(company.mode) ? await gates.of(db, company.id) : undefined;
  const rows = await findMissing(db, company.id, shownMax);
  return {
    restored_at: gate?.closed_at.toISOString() ?? null,
    waits_for: gate?.waits_for ?? null,
    data: rows.map(({ card_last4, executed_at, ...row }) => ({
      ...row,
      card_last_four: card_last4,
      executed_at: executed_at.toISOString(),
    })),
  };
}

export interface ReconcileOptions {
  /** Record operations that can be attributed to an order, instead of only listing them. Behind a gate that is always done. */
  readonly adopt: boolean;
  /** Compare from this time on; by default two days before the end of the restored database's books. */
  readonly sinceMs?: number | undefined;
  /** Open the gates although some companies could not be compared. */
  readonly finish?: boolean;
}

export interface Reconciliation {
  /** When the first of the gates that were closed before was closed. */
  readonly closedAt: Date | undefined;
  readonly comparisons: readonly Comparison[];
  /** Whether a gate was closed, and all are open now. */
  readonly finished: boolean;
  /** How many companies wait for what, with the time at which the list can be taken again. */
  readonly gates: readonly Gate[];
}

/**
 * The clocks of database and processor may differ by hours, and an operation in doubt was executed before it was
 * recorded.
 */
const marginMs = 2 * dayMs;

/** A restored database without a payment may have lost all payments of its companies. */
export function fromOf({ books_until, company_id }: Pick<Gate, 'books_until' | 'company_id'>): number {
  return Math.max(0, (books_until?.getTime() ?? idTimeMs(company_id)) - marginMs);
}

export async function reconcile(
  dependencies: ReconcileDependencies,
  { adopt, sinceMs, finish = false }: ReconcileOptions,
): Promise<Reconciliation> {
  const { db, clock } = dependencies;
  const wasRestored = (await currentRestore(db)) !== undefined;
  const closed = new Map((await gates.closed(db)).map((gate) => [gate.company_id, gate]));
  const companies = await connectingCompanies(dependencies);
  const comparisons: Comparison[] = [];
  for (const company of companies) {
    const gate = closed.get(company.id);
    const connections = (await companyConnections(db, company.id)).filter(({ removed_at }) => removed_at === null);
    if (connections.length === 0 && !gate) continue;
    const fromMs = sinceMs ?? (gate ? fromOf(gate) : clock.nowMs() - marginMs);
    const options = { adopt: adopt || gate !== undefined, fromMs, companies: companies.map(({ id }) => id) };
    const compared = await compare(dependencies, company, options);
    comparisons.push(compared.comparison);
    if (gate) await openIfCompared(dependencies, gate, compared, finish);
  }
  await gates.finish(db);
  const left = await gates.closed(db);
  const finished = (wasRestored || closed.size > 0) && left.length === 0;
  const [closedAt] = [...closed.values()].map(({ closed_at }) => closed_at).toSorted((one, other) => +one - +other);
  return { closedAt, comparisons, finished, gates: left };
}

/** Those whose operations a processor has. */
export async function connectingCompanies(shard: ShardDatabase): Promise<Company[]> {
  return (await allCompanies({ all: [shard] })).filter(({ mode }) => connects(mode));
}

/** Compares every shard. It is finished when each shard is that was restored. */
export async function reconcileAll(
  shards: readonly ShardDatabase[],
  others: Omit<ReconcileDependencies, keyof ShardDatabase>,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const results: Reconciliation[] = [];
  for (const shard of shards) results.push(await reconcile({ ...shard, ...others }, options));
  const left = results.flatMap((one) => one.gates);
  return {
    closedAt: results.find(({ closedAt }) => closedAt !== undefined)?.closedAt,
    comparisons: results.flatMap(({ comparisons }) => comparisons),
    finished: left.length === 0 && results.some(({ finished }) => finished),
    gates: left,
  };
}

/** An answer of the processor, and what the clocks of one processor differ by. */
const inFlightMarginMs = 5 * secondMs;

/** After this time no request that was sent before the gate closed can be executed any more. */
const inFlightMs = (connections: readonly ComparedConnection[]): number =>
  Math.max(0, ...connections.map(({ request_life_ms }) => request_life_ms)) + inFlightMarginMs;

/** Between two comparisons of a company whose processor does not answer. */
export const retryDelaysMs = [5 * secondMs, 15 * secondMs, minuteMs, 5 * minuteMs];
const adoptionRounds = 3;
/** Nothing changes until a person acts, so the processors are not listed again and again. */
const personMs = { connection: 10 * secondMs, operator: dayMs } as const;

/**
 * Opens the gate if everything was compared, and nothing that was sent before the gate closed can still arrive. Otherwise
 * records what it waits for. Returns whether it is open.
 */
export async function openIfCompared(
  { db, clock }: Pick<ReconcileDependencies, 'db' | 'clock'>,
  gate: Gate,
  compared: Compared,
  finish = false,
): Promise<boolean> {
  const wait = finish ? undefined : waitOf(gate, compared);
  if (!wait) return open(db, gate, new Date(compared.nowMs ?? clock.nowMs()));
  await gates.keepClosed(db, gate, wait);
  return false;
}

/** Why the gate stays closed, and when the company is compared again; undefined if everything is known. */
function waitOf(gate: Gate, { comparison, connections, silent, hasFailed }: Compared): GateState | undefined {
  const lifeMs = inFlightMs(connections);
  const failure = comparison.failure ?? null;
  if (hasFailed) {
    const afterMs = retryDelaysMs[Math.min(gate.failures, retryDelaysMs.length - 1)] ?? minuteMs;
    return { waitsFor: 'processor', failure, failures: gate.failures + 1, afterMs };
  }
  if (silent.length < connections.length && gate.age_ms < lifeMs) {
    return { waitsFor: 'second_list', failure: null, failures: 0, afterMs: lifeMs - gate.age_ms };
  }
  // An order records one operation at a time, and the worker records those that were adopted so far.
  if (comparison.missing.some(({ state }) => state === 'adoptable') && gate.failures < adoptionRounds) {
    return { waitsFor: 'comparison', failure, failures: gate.failures + 1, afterMs: 2 * secondMs };
  }
  if (lostOf(gate, connections).length > 0) {
    return { waitsFor: 'connection', failure, failures: 0, afterMs: personMs.connection };
  }
  if (silent.length > 0) return { waitsFor: 'operator', failure, failures: 0, afterMs: personMs.operator };
  return undefined;
}

async function open(db: DatabasePool, gate: Gate, until: Date): Promise<boolean> {
  if (!(await gates.open(db, gate, until))) return false;
  await checkOpenOf(db, gate.company_id);
  return true;
}

/** The connections that were made after the backup, and are not connected again. */
export function lostOf(
  { lost_connections, closed_at }: Gate,
  connections: readonly ComparedConnection[],
): Gate['lost_connections'] {
  // Not every processor names its account.
  const isAgain = (account: string | null, one: ComparedConnection): boolean =>
    account !== null && one.account_id ? one.account_id === account : one.created_at > closed_at;
  return lost_connections.filter(
    ({ id, kind, account }) =>
      !connections.some((one) => one.id === id || (one.kind === kind && isAgain(account, one))),
  );
}
