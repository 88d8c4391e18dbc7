import type { Queryable } from '../../platform/database.ts';
import { type ChargeToPlace, chooseConnections } from './choose.ts';
import { type HealthWatch, type NotedCall, watchConnections } from './health.ts';
import { keepFindings, type NotedAt } from './findings.ts';
import { accountRefusalIn } from '../../vault/processors/account-refusal.ts';
import type { CardVerification, RejectedVerification } from '../../vault/vault.ts';
import { type ConnectionRow, findConnections } from './queries.ts';

/** The connections of live companies, as charges use them. */
export interface Connections {
  candidates(charge: ChargeToPlace & { readonly companyId: string }): Promise<readonly string[]>;
  ever(companyId: string): Promise<readonly string[]>;
  /**
   * The connection at which a new card is verified: the first. Cards from a page are verified only if the owner enabled
   * it for that connection.
   */
  verifierOf(companyId: string, publishable: boolean): Promise<string | undefined>;
  note(at: NotedAt, call: NotedCall): void;
  /** The same for the verification of a card. */
  noteVerification(at: Omit<NotedAt, 'operation'>, found: CardVerification | RejectedVerification): void;
  readonly health: HealthWatch;
  /** Called after a change of the connections of a company. */
  forget(companyId: string): void;
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

  function forget(companyId: string): void {
    found.delete(companyId);
  }

  function note(at: NotedAt, call: NotedCall): void {
    // Charges choose their connection by what charges and lookups found.
    if (at.operation === 'charge' || call.isLookup) health.note(at.connectionId, call);
    keepFindings({ of, databaseOf, forget }, at, call);
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
    note,
    noteVerification(at, verification) {
      const refusal = verification.outcome === 'rejected' ? accountRefusalIn(verification) : {};
      const outcome = verification.outcome === 'verified' ? 'approved' : 'declined';
      note({ ...at, operation: 'verification' }, { outcome, ...refusal });
    },
    forget,
  };
}
