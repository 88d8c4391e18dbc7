import { dayMs, hourMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ShardDatabase } from '../../shards/shards.ts';
import type { Database, DatabasePool, Queryable } from '../../platform/database.ts';
import { idTimeMs, isUuid, newId } from '../../platform/ids.ts';
import type { ListedOperation, Listing } from '../../vault/processors/processor.ts';
import type { Vault } from '../../vault/vault.ts';
import type { Company } from '../../company.ts';
import { allCompanies } from '../companies/service.ts';
import { adoptCard, adoptOperation } from '../orders/service.ts';
import { companyConnections } from '../processors/service.ts';
import { currentRestore, endRestore, type Restore } from '../restores/service.ts';
import {
  type BookedRow,
  countMissing,
  dismissMissing,
  findBooks,
  findDismissed,
  findMissing,
  forgetFound,
  type MissingOperation,
  saveMissing,
} from './queries.ts';
import type { ReconciliationState } from './schemas.ts';
import { type Standing, standingsOf } from './subjects.ts';

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
  const restore = company.mode === 'live' ? await currentRestore(db) : undefined;
  const rows = await findMissing(db, company.id, shownMax);
  return {
    restored_at: restore?.noticed_at.toISOString() ?? null,
    data: rows.map(({ card_last4, executed_at, ...row }) => ({
      ...row,
      card_last_four: card_last4,
      executed_at: executed_at.toISOString(),
    })),
  };
}

/** Compares our books with those of the processors, and lists or adopts operations that our books miss. */

export interface ReconcileDependencies extends ShardDatabase {
  readonly vault: Pick<Vault, 'operations'>;
  readonly clock: Clock;
}

export interface ReconcileOptions {
  /** Record operations that can be attributed to an order, instead of only listing them. */
  readonly adopt: boolean;
  /** Compare from this time on; by default two days before the end of the restored database's books. */
  readonly sinceMs?: number | undefined;
  /** End the restored state although some companies could not be compared. */
  readonly finish?: boolean;
  readonly onProgress?: (company: Company, compared: number) => void;
}

export interface Missing extends MissingOperation {
  /**
   * `adopted`: it is recorded now. `billing`: the next billing of the subscription records it. `adoptable`: `--adopt`
   * would record it. `listed`: its order is unknown.
   */
  readonly state: 'adopted' | 'adoptable' | 'billing' | 'listed';
}

/** An operation that differs between our books and the processor's. */
export interface Difference {
  readonly company_id: string;
  readonly operation: ListedOperation;
  readonly booked: BookedRow;
  /**
   * `held`: a charge stays in doubt, because another card has paid for the same subject. `elsewhere`: another connection
   * has been paid for it, too.
   */
  readonly state: 'held' | 'adopted' | 'elsewhere' | 'differs';
}

export interface Comparison {
  readonly company: Company;
  readonly compared: number;
  readonly missing: readonly Missing[];
  readonly differences: readonly Difference[];
  /** The number of declined operations that the books miss; they moved no money. */
  readonly missingDeclines: number;
  /** Which connections could not be compared, and why. */
  readonly failure?: string;
}

export interface Reconciliation {
  readonly restore: Restore | undefined;
  readonly comparisons: readonly Comparison[];
  /** Whether the restored state is over. */
  readonly finished: boolean;
}

/**
 * The clocks of database and processor may differ by hours, and an operation in doubt was executed before it was
 * recorded.
 */
const marginMs = 2 * dayMs;

export async function reconcile(
  dependencies: ReconcileDependencies,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const { db, clock } = dependencies;
  const restore = await currentRestore(db);
  const companies = (await allCompanies({ all: [dependencies] })).filter(({ mode }) => mode === 'live');
  // A restored database without a payment may have lost all payments of its companies.
  const booksUntilMs = ({ id }: Company): number =>
    restore ? (restore.books_until?.getTime() ?? idTimeMs(id)) : clock.nowMs();
  const comparisons: Comparison[] = [];
  let untilMs = Number.POSITIVE_INFINITY;
  for (const company of companies) {
    // A disconnected processor may have charged before. Without its credentials it cannot be asked.
    const connections = (await companyConnections(db, company.id)).filter(({ removed_at }) => removed_at === null);
    if (connections.length === 0) continue;
    const fromMs = options.sinceMs ?? Math.max(0, booksUntilMs(company) - marginMs);
    const compared = await compare(dependencies, options, companies, company, fromMs);
    comparisons.push(compared.comparison);
    untilMs = Math.min(untilMs, compared.nowMs ?? untilMs);
  }
  const complete = options.finish === true || comparisons.every(({ failure }) => failure === undefined);
  const until = new Date(Number.isFinite(untilMs) ? untilMs : clock.nowMs());
  const finished = complete && restore !== undefined && (await endRestore(db, restore.id, until));
  return { restore, comparisons, finished };
}

/** Compares every shard. It is finished when each shard is that was restored. */
export async function reconcileAll(
  shards: readonly ShardDatabase[],
  others: Omit<ReconcileDependencies, keyof ShardDatabase>,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const results: Reconciliation[] = [];
  for (const shard of shards) results.push(await reconcile({ ...shard, ...others }, options));
  const restored = results.filter(({ restore }) => restore !== undefined);
  return {
    restore: restored.find(({ finished }) => !finished)?.restore ?? restored[0]?.restore,
    comparisons: results.flatMap(({ comparisons }) => comparisons),
    finished: restored.length > 0 && restored.every(({ finished }) => finished),
  };
}

/** Later than any clock: the acquirer returns all operations so far. */
const endOfTimeMs = Date.UTC(9999, 0, 1);

async function compare(
  { db, vault, clock }: ReconcileDependencies,
  { adopt, onProgress }: ReconcileOptions,
  companies: readonly Company[],
  company: Company,
  fromMs: number,
): Promise<{ comparison: Comparison; nowMs?: number }> {
  const all = companies.map(({ id }) => id);
  const dismissed = await findDismissed(db, company.id);
  const unbooked: ListedOperation[] = [];
  const differing: Difference[] = [];
  let [compared, missingDeclines] = [0, 0];
  let nowMs: number | undefined;
  const failures: string[] = [];
  const connections = await companyConnections(db, company.id);
  const compareWith = async (connection: ComparedConnection): Promise<void> => {
    for await (const listing of listings(vault, company.id, connection.id, fromMs)) {
      nowMs = Math.min(nowMs ?? listing.nowMs, listing.nowMs);
      // Two companies may share an account at the processor, and other systems may use it too; their references are
      // not UUIDs.
      const ours = listing.operations.filter(({ reference }) => isUuid(reference));
      const booked = await booksOf(db, company.id, all, ours);
      for (const operation of ours) {
        const row = booked.get(operation.reference);
        if (row) differing.push(...differenceOf(company.id, connections, operation, row));
        else if (!operation.approved) missingDeclines += 1;
        else if (!dismissed.has(operation.reference)) unbooked.push(operation);
      }
      compared += listing.operations.length;
      onProgress?.(company, compared);
    }
  };
  for (const connection of connections.filter(({ removed_at }) => removed_at === null)) {
    await compareWith(connection).catch((error: unknown) => {
      failures.push(`${connection.name}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
  await forgetFound(db, company.id);
  const missing = await attributeAll(db, company, unbooked, (found) => openMissing(db, clock, found, nowMs), adopt);
  const differences = adopt ? await Promise.all(differing.map((one) => adoptHeld(db, one))) : differing;
  const failure = failures.length > 0 ? { failure: failures.join('; ') } : {};
  const comparison = { company, compared, missing, differences, missingDeclines, ...failure };
  return { comparison, ...(nowMs !== undefined && { nowMs }) };
}

/** The operations at a connection that the company has or had. */
async function* listings(
  vault: Pick<Vault, 'operations'>,
  companyId: string,
  connectionId: string,
  fromMs: number,
): AsyncGenerator<Listing> {
  for (let after: string | undefined; ; ) {
    const period = { companyId, fromMs, untilMs: endOfTimeMs };
    const listing = await vault.operations({ ...period, connectionId, ...(after && { after }) });
    if (!listing) throw new Error('the processor has no list of operations; compare with its report');
    yield { ...listing, operations: listing.operations.map((operation) => ({ ...operation, connectionId })) };
    if (listing.next === null) return;
    after = listing.next;
  }
}

type ComparedConnection = Awaited<ReturnType<typeof companyConnections>>[number];

async function booksOf(
  db: DatabasePool,
  companyId: string,
  all: readonly string[],
  operations: readonly ListedOperation[],
): Promise<Map<string, BookedRow>> {
  const references = operations.map(({ reference }) => reference);
  const own = await findBooks(db, [companyId], references);
  const booked = new Map(own.map((row) => [row.reference, row]));
  const rest = references.filter((reference) => !booked.has(reference));
  const others = rest.length > 0 ? await findBooks(db, all, rest) : [];
  for (const row of others) booked.set(row.reference, row);
  return booked;
}

/** Whether our records have the charge at another account, so that both may have executed it. */
function isElsewhere(
  connections: readonly ComparedConnection[],
  { kind, approved, voided, connectionId }: ListedOperation,
  { connection_id }: BookedRow,
): boolean {
  if (kind !== 'charge' || !approved || voided) return false;
  const [listed, booked] = [connectionId, connection_id].map((id) => connections.find((one) => one.id === id));
  if (!listed || !booked) return false;
  if (listed.kind !== booked.kind) return true;
  // The same account may have been connected twice, one time after the other. Not every processor names its account.
  const accounts = [listed.account_id, booked.account_id];
  return accounts.every((id) => typeof id === 'string') && accounts[0] !== accounts[1];
}

function differenceOf(
  companyId: string,
  connections: readonly ComparedConnection[],
  operation: ListedOperation,
  booked: BookedRow,
): Difference[] {
  const sameMoney = booked.amount === operation.amount && booked.currency === operation.currency;
  const sameCard = operation.kind !== 'charge' || booked.card_last4 === operation.last4;
  if (booked.status === 'open') {
    const holdsMoney = operation.kind === 'charge' && operation.approved && !operation.voided;
    const isHeld = holdsMoney && !(sameMoney && sameCard);
    return isHeld ? [{ company_id: companyId, operation, booked, state: 'held' }] : [];
  }
  if (isElsewhere(connections, operation, booked))
    return [{ company_id: companyId, operation, booked, state: 'elsewhere' }];
  // A void is compared on its own, so the voided state of a charge is not compared.
  if (operation.approved === (booked.status !== 'failed') && sameMoney) return [];
  return [{ company_id: companyId, operation, booked, state: 'differs' }];
}

/** Determines the subject of each missing operation, and adopts it if that is requested and possible. */
async function attributeAll(
  db: DatabasePool,
  company: Company,
  operations: readonly ListedOperation[],
  open: (missing: MissingOperation) => Promise<boolean>,
  adopt: boolean,
): Promise<Missing[]> {
  if (operations.length === 0) return [];
  const charges = operations.filter(({ kind }) => kind === 'charge').map(({ reference }) => reference);
  const standings = await standingsOf(db, company.id, new Set(charges));
  const chargedBy = operations.flatMap(({ chargeReference }) => chargeReference ?? []).filter(isUuid);
  const sales = new Map((await findBooks(db, [company.id], chargedBy)).map((row) => [row.reference, row]));
  const missing: Missing[] = [];
  for (const operation of operations) {
    const standing = standings.get(operation.reference);
    const known = attribute(company.id, operation, standing, sales.get(operation.chargeReference ?? ''));
    missing.push({ ...known, state: await stateOf(known, standing, adopt, open) });
  }
  await saveMissing(db, missing);
  return missing;
}

function attribute(
  company_id: string,
  operation: ListedOperation,
  standing: Standing | undefined,
  sale: BookedRow | undefined,
): MissingOperation {
  return {
    company_id,
    operation,
    order_id: standing?.order_id ?? sale?.order_id ?? null,
    subscription_id: standing?.subscription_id ?? null,
    subscription_cycle: standing?.subscription_cycle ?? null,
  };
}

async function stateOf(
  missing: MissingOperation,
  standing: Standing | undefined,
  adopt: boolean,
  open: (missing: MissingOperation) => Promise<boolean>,
): Promise<Missing['state']> {
  if (standing?.isRenewal) return 'billing';
  if (missing.order_id === null) return 'listed';
  return adopt && (await open(missing)) ? 'adopted' : 'adoptable';
}

async function openMissing(
  db: Database,
  clock: Clock,
  missing: MissingOperation,
  processorNowMs = 0,
): Promise<boolean> {
  const nowMs = clock.nowMs();
  // The age by the processor's clock, plus the time that the comparison takes.
  const agoMs = Math.max(0, processorNowMs - missing.operation.executedAtMs) + hourMs;
  return adoptOperation(db, missing, { id: newId(nowMs), at: new Date(nowMs), agoMs });
}

async function adoptHeld(db: Database, difference: Difference): Promise<Difference> {
  const { company_id, operation, state } = difference;
  if (state !== 'held') return difference;
  return (await adoptCard(db, company_id, operation)) ? { ...difference, state: 'adopted' } : difference;
}
