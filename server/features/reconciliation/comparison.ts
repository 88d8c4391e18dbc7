import type { Company } from '../../company.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { isUuid, newId } from '../../platform/ids.ts';
import type { ShardDatabase } from '../../shards/shards.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { ListedOperation, Listing } from '../../vault/processors/processor.ts';
import type { Vault } from '../../vault/vault.ts';
import { adoptLater, adoptOpen, adoptOperation } from '../orders/service.ts';
import { companyConnections } from '../processors/service.ts';
import {
  type BookedRow,
  findBooks,
  findDismissed,
  findNoticed,
  forgetFound,
  type MissingOperation,
  saveMissing,
} from './queries.ts';
import { type Standing, standingsOf } from './subjects.ts';

/** Compares the records of one company with its processors, and lists or adopts operations that the records miss. */

export interface ReconcileDependencies extends ShardDatabase {
  readonly vault: Pick<Vault, 'operations'>;
  readonly clock: Clock;
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

export interface Compared {
  readonly comparison: Comparison;
  /** The clock of the processor that is furthest behind; undefined if none has answered. */
  readonly nowMs?: number;
  readonly connections: readonly ComparedConnection[];
  /** The connections that cannot list what they executed. */
  readonly silent: readonly ComparedConnection[];
  /** Whether a connection that can list did not. */
  readonly hasFailed: boolean;
}

export interface CompareOptions {
  /** Record operations that can be attributed to an order, instead of only listing them. */
  readonly adopt: boolean;
  readonly fromMs: number;
  /** The live companies of the shard: two of them may share an account at a processor. */
  readonly companies: readonly string[];
  /** Called after each page. */
  readonly onPage?: (compared: number) => Promise<void> | void;
}

/** Later than any clock: the acquirer returns all operations so far. */
const endOfTimeMs = Date.UTC(9999, 0, 1);

export async function compare(
  { db, vault, clock }: ReconcileDependencies,
  company: Company,
  { adopt, fromMs, companies, onPage }: CompareOptions,
): Promise<Compared> {
  const dismissed = await findDismissed(db, company.id);
  const unbooked: ListedOperation[] = [];
  const differing: Difference[] = [];
  const found: ListedOperation[] = [];
  let [compared, missingDeclines] = [0, 0];
  let nowMs: number | undefined;
  const failures: string[] = [];
  const ever = await companyConnections(db, company.id);
  // A disconnected processor may have charged before. Without its credentials it cannot be asked.
  const connections = ever.filter(({ removed_at }) => removed_at === null);
  const silent = connections.filter(({ kind }) => kindNamed(kind).cannotList);
  const compareAll = async (operations: readonly ListedOperation[]): Promise<void> => {
    // Two companies may share an account at the processor, and other systems may use it too; their references are
    // not UUIDs.
    const ours = operations.filter(({ reference }) => isUuid(reference));
    const booked = await booksOf(db, company.id, companies, ours);
    for (const operation of ours) {
      const row = booked.get(operation.reference);
      if (row && isFound(operation, row)) found.push(operation);
      else if (row && operation.amount !== null) differing.push(...differenceOf(company.id, ever, operation, row));
      else if (row) continue;
      else if (!operation.approved) missingDeclines += 1;
      else if (!dismissed.has(operation.reference)) unbooked.push(operation);
    }
    compared += operations.length;
    await onPage?.(compared);
  };
  const compareWith = async (connection: ComparedConnection): Promise<void> => {
    // A processor that cannot list may have sent its notices again.
    if (silent.includes(connection)) await compareAll(await findNoticed(db, company.id, connection.id));
    for await (const listing of listings(vault, company.id, connection.id, fromMs)) {
      nowMs = Math.min(nowMs ?? listing.nowMs, listing.nowMs);
      await compareAll(listing.operations);
    }
  };
  for (const connection of connections) {
    await compareWith(connection).catch((error: unknown) => {
      failures.push(`${connection.name}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
  await forgetFound(db, company.id);
  const missing = await attributeAll(db, company, unbooked, (...lost) => openMissing(db, clock, ...lost, nowMs), adopt);
  if (adopt) for (const operation of found) await adoptOpen(db, company.id, operation);
  const differences = adopt ? await Promise.all(differing.map((one) => adoptHeld(db, one))) : differing;
  const failure = failures.length > 0 ? { failure: failures.join('; ') } : {};
  const comparison = { company, compared, missing, differences, missingDeclines, ...failure };
  const hasFailed = failures.length > silent.length;
  return { comparison, connections, silent, hasFailed, ...(nowMs !== undefined && { nowMs }) };
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

export type ComparedConnection = Awaited<ReturnType<typeof companyConnections>>[number];

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

/** An authorization is made as a charge is, and captured later. */
const isCharge = (kind: ListedOperation['kind']): boolean => kind === 'charge' || kind === 'authorization';

/** Whether our records have the charge at another account, so that both may have executed it. */
function isElsewhere(
  connections: readonly ComparedConnection[],
  { kind, approved, voided, connectionId }: ListedOperation,
  { connection_id }: BookedRow,
): boolean {
  if (!isCharge(kind) || !approved || voided) return false;
  const [listed, booked] = [connectionId, connection_id].map((id) => connections.find((one) => one.id === id));
  if (!listed || !booked) return false;
  if (listed.kind !== booked.kind) return true;
  // The same account may have been connected twice, one time after the other. Not every processor names its account.
  const accounts = [listed.account_id, booked.account_id];
  return accounts.every((id) => typeof id === 'string') && accounts[0] !== accounts[1];
}

/** A notice does not name the amount and the card. */
const isSame = ({ kind, amount, currency, last4 }: ListedOperation, booked: BookedRow): boolean =>
  booked.amount === (amount ?? booked.amount) &&
  booked.currency === (currency ?? booked.currency) &&
  (!isCharge(kind) || booked.card_last4 === (last4 ?? booked.card_last4));

/** Whether the processor was paid for a charge that is open in our records, perhaps at another connection. */
function isFound(operation: ListedOperation, booked: BookedRow): boolean {
  const { kind, approved, voided } = operation;
  return booked.status === 'open' && isCharge(kind) && approved && !voided && isSame(operation, booked);
}

function differenceOf(
  companyId: string,
  connections: readonly ComparedConnection[],
  operation: ListedOperation,
  booked: BookedRow,
): Difference[] {
  const sameMoney = booked.amount === operation.amount && booked.currency === operation.currency;
  if (booked.status === 'open') {
    const isHeld = isCharge(operation.kind) && operation.approved && !operation.voided;
    return isHeld ? [{ company_id: companyId, operation, booked, state: 'held' }] : [];
  }
  if (isElsewhere(connections, operation, booked))
    return [{ company_id: companyId, operation, booked, state: 'elsewhere' }];
  // A void is compared on its own, so the voided state of a charge is not compared.
  if (operation.approved === (booked.status !== 'failed') && sameMoney) return [];
  return [{ company_id: companyId, operation, booked, state: 'differs' }];
}

type Adoption = (missing: MissingOperation, standing: Standing | undefined) => Promise<boolean>;

/** Determines the subject of each missing operation, and adopts it if that is requested and possible. */
async function attributeAll(
  db: DatabasePool,
  company: Company,
  operations: readonly ListedOperation[],
  open: Adoption,
  adopt: boolean,
): Promise<Missing[]> {
  if (operations.length === 0) return [];
  const charges = operations.filter(({ kind }) => isCharge(kind)).map(({ reference }) => reference);
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
  open: Adoption,
): Promise<Missing['state']> {
  if (standing?.isRenewal) return 'billing';
  if (missing.order_id === null) return 'listed';
  return adopt && (await open(missing, standing)) ? 'adopted' : 'adoptable';
}

async function openMissing(
  db: Database,
  clock: Clock,
  missing: MissingOperation,
  standing: Standing | undefined,
  processorNowMs = 0,
): Promise<boolean> {
  if (standing?.isOpen) return adoptLater(db, missing, standing.numbered);
  const nowMs = clock.nowMs();
  // The age by the processor's clock, plus the time that the comparison takes.
  const agoMs = Math.max(0, processorNowMs - missing.operation.executedAtMs) + hourMs;
  return adoptOperation(db, missing, { id: newId(nowMs), at: new Date(nowMs), agoMs });
}

async function adoptHeld(db: Database, difference: Difference): Promise<Difference> {
  const { company_id, operation, state } = difference;
  if (state !== 'held') return difference;
  return (await adoptOpen(db, company_id, operation)) ? { ...difference, state: 'adopted' } : difference;
}
