import type { NotAsked } from '../../vault/charges.ts';
import { findPaid } from '../../vault/later-references.ts';
import type { LookupOutcome } from '../../vault/processors/processor.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { Charging } from './charging.ts';
import { isKeyed } from './reference.ts';
import type { Sale } from './sales.ts';

/**
 * A restored database may have forgotten that a charge was executed, and at which connection. So each connection that is
 * not used for the charge has to say first that it did not execute it. It is believed:
 *
 * - if it finds charges by their reference: at once;
 * - if it searches for them, with some delay: when the restore is older than that delay, see the vault;
 * - if it only sends notices: when the operator has compared its report with the records (`svc reconcile --finish`).
 *   Until then, and for an order whose idempotency key may repeat a lost request, the charge waits.
 *
 * Something that is prepared at one connection may be left over from a charge that another one was paid for. It is
 * completed only after every other connection was asked, without moving money.
 */

type Opened = Pick<Sale, 'id' | 'subject'>;

/**
 * Whether a restored database may have forgotten that a charge with this reference was executed. An idempotency key that
 * is used after those of lost requests have expired stands for a new purchase.
 */
export function mayBeForgotten({ restores }: Charging, sale: Opened): boolean {
  if (!restores?.looksFirst()) return false;
  return !isKeyed(sale) || restores.mayRepeatKey(idTimeMs(sale.id));
}

interface Sought extends Opened {
  readonly company_id: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly card_last4: string;
  /** It is not sent any more. If it was not executed, it has failed. */
  readonly isOver?: boolean;
}

interface Place {
  readonly connectionId: string;
  readonly reference: string;
}

export interface ExecutedElsewhere extends Place {
  readonly kind: 'executed';
  readonly found: Exclude<LookupOutcome, { outcome: 'not_found' | 'unknown' }>;
}

type Answer =
  | ExecutedElsewhere
  | { readonly kind: 'not_asked'; readonly outcome: NotAsked }
  /** No connection has executed it, except perhaps those where it is prepared and which cannot be asked. */
  | { readonly kind: 'not_executed'; readonly prepared: readonly Place[] };

type Unanswered = Extract<LookupOutcome, { outcome: 'unknown' }>;

function notAsked(
  { connections }: Charging,
  { company_id: companyId }: Sought,
  connectionId: string,
  found: Unanswered,
): Extract<Answer, { kind: 'not_asked' }> {
  const { refusesCredentials = false } = found;
  if (refusesCredentials) connections.note({ companyId, connectionId }, { ...found, isLookup: true });
  const reason = refusesCredentials ? found.reason : 'a processor could not say whether it executed the charge before';
  return { kind: 'not_asked', outcome: { outcome: 'unavailable', reason, refusesCredentials, awaitsProcessor: true } };
}

function lookUpAt(
  { vault, restores }: Charging,
  { company_id: companyId, amount, currency, card_last4: last4 }: Sought,
  place: Place,
  { capturesNothing }: { readonly capturesNothing: boolean },
): Promise<LookupOutcome> {
  return vault.lookup({
    ...({ companyId, mode: 'live', validUntilMs: 0, kind: 'charge', isRestored: true } as const),
    ...place,
    capturesNothing,
    restoredAgoMs: restores?.noticedAgoMs() ?? 0,
    sent: { amount, currency, last4 },
  });
}

/**
 * Whether a connection that never says what it executed has been compared by the operator. A key may still repeat a lost
 * request, whose payment the operator leaves to that; so its order may be closed then, and not be sent.
 */
function isCompared({ restores }: Charging, sale: Sought): boolean {
  return restores?.isRestored() === false && (sale.isOver === true || !isKeyed(sale));
}

/** Asks these connections about a charge and its later references. No money moves. */
export async function askConnections(
  charging: Charging,
  sale: Sought,
  connections: readonly string[],
  later: readonly string[],
): Promise<Answer> {
  const prepared: Place[] = [];
  for (const connectionId of connections) {
    const lookUp = async (reference: string): Promise<LookupOutcome> => {
      const answer = await lookUpAt(charging, sale, { connectionId, reference }, { capturesNothing: true });
      const isUnheard = answer.outcome === 'unknown' && answer.isUnanswerable === true && answer.isPrepared !== true;
      return isUnheard && isCompared(charging, sale) ? { outcome: 'not_found' } : answer;
    };
    const own = await lookUp(sale.reference);
    const paid = own.outcome === 'not_found' ? await findPaid(later, lookUp) : undefined;
    const { reference, found } = paid ?? { reference: sale.reference, found: own };
    if (found.outcome === 'not_found') continue;
    if (found.outcome !== 'unknown') return { kind: 'executed', connectionId, reference, found };
    if (found.isPrepared !== true) return notAsked(charging, sale, connectionId, found);
    prepared.push({ connectionId, reference });
  }
  return { kind: 'not_executed', prepared };
}

/**
 * Finds a charge that is about to be sent at the connections that will not be used for it; the one that will be used
 * looks first itself. Whatever is found is the outcome. Returns undefined if the charge can be sent.
 */
export async function findElsewhere(
  charging: Charging,
  sale: Sought,
  used: string | undefined,
  later: readonly string[],
): Promise<Exclude<Answer, { kind: 'not_executed' }> | undefined> {
  const ever = await charging.connections.ever(sale.company_id);
  const others = ever.filter((id) => id !== used);
  const asked = await askConnections(charging, sale, others, later);
  if (asked.kind !== 'not_executed') return asked;
  const [place, another] = asked.prepared;
  if (!place) return undefined;
  const there = used === undefined ? undefined : await askConnections(charging, sale, [used], later);
  if (there && there.kind !== 'not_executed') return there;
  if (another || (there && there.prepared.length > 0)) return ambiguous;
  const found = await lookUpAt(charging, sale, place, { capturesNothing: false });
  if (found.outcome === 'not_found') return undefined;
  if (found.outcome === 'unknown') return notAsked(charging, sale, place.connectionId, found);
  return { kind: 'executed', ...place, found };
}

const ambiguous = {
  kind: 'not_asked',
  outcome: {
    outcome: 'unavailable',
    reason: 'the charge is prepared at two connections, and either may have executed it',
    awaitsProcessor: true,
  },
} as const;
