import type { Queryable } from '../../platform/database.ts';
import { type ChargeToPlace, chooseConnections } from './choose.ts';
import { type HealthWatch, type NotedCall, watchConnections } from './health.ts';
import { rejectionAfter } from './rejections.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import { type ConnectionRow, findConnections, setCodeWanted, setRefused, setRejected, setUnlinked } from './queries.ts';

/** The connections of live companies, as charges use them. */
export interface Connections {
  candidates(charge: ChargeToPlace & { readonly companyId: string }): Promise<readonly string[]>;
  ever(companyId: string): Promise<readonly string[]>;
  /**
   * The connection at which a new card is verified: the first. Cards from a page are verified only if the owner enabled
   * it for that connection.
   */
  verifierOf(companyId: string, publishable: boolean): Promise<string | undefined>;
  note(connection: { readonly companyId: string; readonly connectionId: string }, call: NotedCall): void;
  readonly health: HealthWatch;
  /** Called after a change of the connections of a company. */
  forget(companyId: string): void;
}

/** Whether charges come without the reference of the card network. Only an approved charge shows it. */
function isUnlinkedAfter({ kind, unlinked_at }: ConnectionRow, call: NotedCall): boolean {
  if (call.outcome !== 'approved' || call.isLookup || !kindNamed(kind).hidesNetworkReferences)
    return unlinked_at !== null;
  return call.networkTransactionId === undefined;
}

/** A change by another process is noticed after this time. The vault refuses connections whose credentials were removed. */
const cacheMs = 2_000;

export function openConnections(databaseOf: (companyId: string) => Promise<Queryable>): Connections {
  const health = watchConnections();
  const found = new Map<string, { untilMs: number; rows: Promise<ConnectionRow[]> }>();

  function of(companyId: string): Promise<ConnectionRow[]> {
    const known = found.get(companyId);
    if (known && performance.now() < known.untilMs) return known.rows;
    const rows = databaseOf(companyId).then((db) => findConnections(db, companyId));
    found.set(companyId, { untilMs: performance.now() + cacheMs, rows });
    rows.catch(() => found.delete(companyId));
    return rows;
  }

  /** Other processes and people see it, until the processor answers a charge otherwise. */
  async function keepFindings(companyId: string, connectionId: string, call: NotedCall): Promise<void> {
    const isRefused = call.refusesCredentials === true;
    if (!isRefused && call.outcome !== 'approved' && call.outcome !== 'declined') return;
    const row = (await of(companyId)).find(({ id }) => id === connectionId);
    if (!row) return;
    const isUnlinked = isUnlinkedAfter(row, call);
    const isSame = (row.refused_at !== null) === isRefused && (row.unlinked_at !== null) === isUnlinked;
    if (isSame) return;
    const db = await databaseOf(companyId);
    await setRefused(db, companyId, connectionId, isRefused);
    await setUnlinked(db, companyId, connectionId, isUnlinked);
    found.delete(companyId);
  }

  async function keepRejection(companyId: string, connectionId: string, call: NotedCall): Promise<void> {
    const row = (await of(companyId)).find(({ id }) => id === connectionId);
    const rejection = row ? rejectionAfter(row, call) : null;
    if (!row || row.rejection === rejection) return;
    await setRejected(await databaseOf(companyId), companyId, connectionId, rejection);
    found.delete(companyId);
  }

  /** Until a customer has paid without a security code. */
  async function keepCodeRule(companyId: string, connectionId: string, call: NotedCall): Promise<void> {
    const isWanted = call.wantsSecurityCode === true;
    if (!isWanted && call.paidWithoutCode !== true) return;
    const row = (await of(companyId)).find(({ id }) => id === connectionId);
    if (!row || (row.code_wanted_at !== null) === isWanted) return;
    await setCodeWanted(await databaseOf(companyId), companyId, connectionId, isWanted);
    found.delete(companyId);
  }

  return {
    health,
    async candidates({ companyId, ...charge }) {
      const choose = (rows: readonly ConnectionRow[]): string[] => {
        const connected = rows.filter(({ disconnected_at }) => disconnected_at === null);
        const admits = (id: string, isFirst: boolean): boolean => connected.length === 1 || health.admits(id, isFirst);
        return chooseConnections(connected, charge, admits);
      };
      const chosen = choose(await of(companyId));
      if (chosen.length > 0) return chosen;
      // The charge would fail, and another process may have connected a processor a moment ago.
      found.delete(companyId);
      return choose(await of(companyId));
    },
    async ever(companyId) {
      return (await of(companyId)).filter(({ removed_at }) => removed_at === null).map(({ id }) => id);
    },
    async verifierOf(companyId, publishable) {
      const first = (await of(companyId)).find(({ disconnected_at }) => disconnected_at === null);
      return first && (!publishable || first.verifies_cards) ? first.id : undefined;
    },
    note({ companyId, connectionId }, call) {
      health.note(connectionId, call);
      // It is for people only, and the next charge notes it again.
      keepFindings(companyId, connectionId, call)
        .then(() => keepRejection(companyId, connectionId, call))
        .catch(() => undefined);
      keepCodeRule(companyId, connectionId, call).catch(() => undefined);
    },
    forget: (companyId) => void found.delete(companyId),
  };
}
