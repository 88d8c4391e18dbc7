import {
  type ProtocolKind,
  type ResponseCode,
  responseTexts,
  type Shown,
  type ShownAuthentication,
} from '../../server/vault/processors/acquirer/protocol.ts';

/** An operation that the acquirer was asked to execute. Of a card it keeps only what a receipt may show. */
export interface Order {
  readonly kind: ProtocolKind;
  readonly reference: string;
  readonly charge_reference: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  /** Of a void: only if the authorization was not captured. */
  readonly uncaptured?: boolean;
  readonly exp_month: number | null;
  readonly exp_year: number | null;
}

/** The bank asks the customer. */
export interface Challenge {
  /** In the URL of the bank. */
  readonly id: string;
  readonly url: string;
  readonly return_url: string;
  readonly expires_at_ms?: number;
  /** With what the bank declines after the customer has confirmed. */
  readonly decline_code?: string;
}

/** A line of the journal: an operation and its result. Later changes over time are derived from it. */
export interface Entry extends Order {
  readonly response_code: string;
  readonly transaction_id: string;
  readonly authorization_code: string | null;
  readonly taken_at_ms: number;
  readonly settles_at_ms: number;
  readonly rejected_at_settlement: boolean;
  /** Of an authorization. */
  readonly capture_before_ms?: number;
  readonly challenge?: Challenge;
  /** Not executed: it waits for the customer, or was given up. */
  readonly state?: 'needs_customer' | 'ended';
  readonly authentication?: ShownAuthentication;
}

interface Circumstances {
  readonly nowMs: number;
  readonly settlesAtMs: number;
  /** The code with which an operation is declined that would be approved. */
  readonly declineCode?: string | undefined;
  readonly rejectAtSettlement?: boolean;
  /** Until when an authorization can be captured. */
  readonly captureBeforeMs?: number;
  /** The bank asks the customer. */
  readonly challenge?: Challenge | undefined;
  readonly authentication?: ShownAuthentication | undefined;
}

export type Decision =
  | { readonly state: 'ended' }
  | {
      readonly isPassed: boolean;
      readonly nowMs: number;
      readonly settlesAtMs: number;
      readonly captureBeforeMs: number;
    };

export interface Books {
  find(reference: string): Entry | undefined;
  /** Executes an operation whose reference `find` does not know. */
  take(order: Order, circumstances: Circumstances): Entry;
  /** The operation that waits for the customer at this page of the bank. */
  challenged(id: string): Entry | undefined;
  /** Ends what waits for the customer: executed, declined or given up. Has no effect on anything else. */
  decide(entry: Entry, decision: Decision): Entry;
  /** Adds an operation that an earlier run executed, or a new state of it. */
  restore(entry: Entry): void;
  /** Returns the first answer to the operation, before anything settled. */
  firstResult(entry: Entry): Shown;
  show(entry: Entry, nowMs: number): Shown;
  all(): Iterable<Entry>;
  readonly size: number;
}

/** How the bank recognized the customer. */
export const authenticatedBy = (flow: 'challenge' | 'frictionless'): ShownAuthentication => ({
  flow,
  status: 'authenticated',
  liability_shifted: true,
  version: '2.2.0',
  eci: '05',
});
const refusedByCustomer: ShownAuthentication = {
  ...authenticatedBy('challenge'),
  status: 'failed',
  liability_shifted: false,
  eci: '07',
};

const approvedCode = '00' satisfies ResponseCode;
const rejectedCode = '21' satisfies ResponseCode;

const contentFields = ['kind', 'charge_reference', 'last4', 'exp_month', 'exp_year'] as const;

export function sameContent(entry: Entry, order: Order): boolean {
  // A void carries no amount: its entry has the amount of the charge.
  const sameMoney = order.kind === 'void' || (entry.amount === order.amount && entry.currency === order.currency);
  return sameMoney && contentFields.every((field) => entry[field] === order[field]);
}

const textOf = (code: string): string => (responseTexts as Record<string, string>)[code] ?? 'Declined';

const isFirst = ({ kind }: Pick<Order, 'kind'>): boolean => kind === 'charge' || kind === 'authorization';

/** Whether the operation still waits for the customer, or was given up, also because the time was over. */
export function unexecuted({ state, challenge }: Entry, nowMs: number): 'needs_customer' | 'ended' | undefined {
  const isOver = state === 'needs_customer' && nowMs >= (challenge?.expires_at_ms ?? Number.POSITIVE_INFINITY);
  return isOver ? 'ended' : state;
}

const isRejected = (entry: Entry, nowMs: number): boolean =>
  entry.rejected_at_settlement && nowMs >= entry.settles_at_ms;

/** An operation that waits for the customer, or was given up. */
function waitingOf(entry: Entry, status: 'needs_customer' | 'ended'): Shown {
  const { kind, reference, charge_reference, amount, currency, last4, transaction_id, taken_at_ms, challenge } = entry;
  const { url, expires_at_ms } = challenge ?? {};
  return {
    ...{ kind, reference, charge_reference, amount, currency, last4, status, transaction_id, taken_at_ms },
    ...{ settled: false, voided: false, response_code: '', response_text: '', authorization_code: null },
    ...(status === 'needs_customer' && url !== undefined && { action: { url } }),
    ...(status === 'needs_customer' && expires_at_ms !== undefined && { expires_at_ms }),
  };
}

function operationOf(entry: Entry, voided: boolean, nowMs: number): Shown {
  const status = unexecuted(entry, nowMs);
  if (status) return waitingOf(entry, status);
  const rejected = isRejected(entry, nowMs);
  const approved = entry.response_code === approvedCode && !rejected;
  const code = rejected ? rejectedCode : entry.response_code;
  return {
    kind: entry.kind,
    reference: entry.reference,
    charge_reference: entry.charge_reference,
    amount: entry.amount,
    currency: entry.currency,
    last4: entry.last4,
    status: approved ? 'approved' : rejected ? 'rejected' : 'declined',
    settled: approved && !voided && nowMs >= entry.settles_at_ms,
    voided,
    response_code: code,
    response_text: textOf(code),
    transaction_id: entry.transaction_id,
    authorization_code: entry.authorization_code,
    taken_at_ms: entry.taken_at_ms,
    ...(entry.capture_before_ms !== undefined && { capture_before_ms: entry.capture_before_ms }),
    ...(entry.authentication && { authentication: entry.authentication }),
    ...(entry.kind === 'verification' &&
      approved && { network_transaction_id: `nti${entry.transaction_id.slice(-9)}` }),
  };
}

/** An authorization is captured once, and neither after its end nor after its void. */
function refusalOfHeld(
  order: Order,
  authorization: Entry,
  { isCaptured, nowMs }: { readonly isCaptured: boolean; readonly nowMs: number },
): ResponseCode | undefined {
  if (isCaptured) return '94';
  if (nowMs >= (authorization.capture_before_ms ?? 0)) return '12';
  if (order.kind === 'void') return undefined;
  if (order.kind !== 'capture' || order.currency !== authorization.currency) return '57';
  return (order.amount ?? 0) > (authorization.amount ?? 0) ? '13' : undefined;
}

function newEntry(order: Order, code: string, sequence: number, circumstances: Circumstances): Entry {
  const { nowMs, settlesAtMs, rejectAtSettlement = false, captureBeforeMs, challenge, authentication } = circumstances;
  const approved = code === approvedCode;
  return {
    ...order,
    response_code: code,
    transaction_id: `acq_${String(sequence).padStart(9, '0')}`,
    authorization_code: approved ? String(sequence % 1_000_000).padStart(6, '0') : null,
    taken_at_ms: nowMs,
    settles_at_ms: order.kind === 'void' ? nowMs : settlesAtMs,
    rejected_at_settlement: approved && rejectAtSettlement,
    ...(order.kind === 'authorization' && approved && { capture_before_ms: captureBeforeMs }),
    ...(authentication && { authentication }),
    ...(challenge && { challenge, state: 'needs_customer' as const }),
  };
}

function decidedEntry(waiting: Entry, decision: Decision): Entry {
  const { state: _, ...entry } = waiting;
  if ('state' in decision) return { ...entry, ...decision };
  const { isPassed, nowMs, settlesAtMs, captureBeforeMs } = decision;
  const code = isPassed ? (entry.challenge?.decline_code ?? approvedCode) : ('1F' satisfies ResponseCode);
  const isApproved = code === approvedCode;
  return {
    ...entry,
    response_code: code,
    authorization_code: isApproved ? entry.transaction_id.slice(-6) : null,
    taken_at_ms: nowMs,
    settles_at_ms: settlesAtMs,
    authentication: isPassed ? authenticatedBy('challenge') : refusedByCustomer,
    ...(entry.kind === 'authorization' && isApproved && { capture_before_ms: captureBeforeMs }),
  };
}

/** The void of a captured authorization names the authorization, and ends the capture. */
const voidable = (entry: Entry): string | null =>
  entry.kind === 'capture' && entry.response_code === approvedCode ? entry.charge_reference : entry.reference;

export function openBooks(): Books {
  const entries = new Map<string, Entry>();
  /** Approved captures, refunds and voids, by the reference of their charge or authorization. */
  const followers = new Map<string, Entry[]>();
  const challenges = new Map<string, string>();

  const isVoided = (reference: string | null): boolean =>
    (followers.get(reference ?? '') ?? []).some((entry) => entry.kind === 'void');

  const captureOf = (authorization: Entry): Entry | undefined =>
    (followers.get(authorization.reference) ?? []).find((entry) => entry.kind === 'capture');

  function refundedAmount(charge: Entry, nowMs: number): number {
    const refunds = (followers.get(charge.reference) ?? []).filter((entry) => entry.kind === 'refund');
    return refunds.filter((entry) => !isRejected(entry, nowMs)).reduce((sum, entry) => sum + (entry.amount ?? 0), 0);
  }

  function refusal(order: Order, charge: Entry | undefined, nowMs: number): ResponseCode | undefined {
    if (isFirst(order) || order.kind === 'verification') return undefined;
    if (!charge) return '25';
    if (charge.state !== undefined) return '12';
    if (charge.response_code !== approvedCode || isVoided(charge.reference)) return '12';
    const taken = charge.kind === 'authorization' ? captureOf(charge) : charge;
    // A captured authorization is refunded, and before it settles voided, like a charge.
    const isHeld = charge.kind === 'authorization' && (taken === undefined || order.kind === 'capture');
    if (isHeld) return refusalOfHeld(order, charge, { isCaptured: taken !== undefined, nowMs });
    if (order.uncaptured) return '94';
    if (!taken || order.kind === 'capture') return '57';
    const refunded = refundedAmount(charge, nowMs);
    if (order.kind === 'void') return refunded > 0 || nowMs >= taken.settles_at_ms ? '12' : undefined;
    if (order.currency !== charge.currency) return '12';
    return (order.amount ?? 0) + refunded > (taken.amount ?? 0) ? '13' : undefined;
  }

  function chargeOf(order: Order): Entry | undefined {
    const found = order.charge_reference === null ? undefined : entries.get(order.charge_reference);
    return found && isFirst(found) ? found : undefined;
  }

  function restore(entry: Entry): void {
    entries.set(entry.reference, entry);
    if (entry.challenge) challenges.set(entry.challenge.id, entry.reference);
    if (entry.charge_reference === null || entry.response_code !== approvedCode) return;
    const others = followers.get(entry.charge_reference);
    if (others) others.push(entry);
    else followers.set(entry.charge_reference, [entry]);
  }

  const show = (entry: Entry, nowMs: number): Shown => operationOf(entry, isVoided(voidable(entry)), nowMs);

  return {
    restore,
    show,
    firstResult: (entry) => ({ ...show(entry, Number.NEGATIVE_INFINITY), voided: false }),
    challenged: (id) => entries.get(challenges.get(id) ?? ''),
    decide(entry, decision) {
      if (entry.state !== 'needs_customer') return entry;
      const decided = decidedEntry(entry, decision);
      restore(decided);
      return decided;
    },
    find: (reference) => entries.get(reference),
    all: () => entries.values(),
    get size() {
      return entries.size;
    },
    take(order, circumstances) {
      const { nowMs, declineCode } = circumstances;
      const charge = chargeOf(order);
      const code = refusal(order, charge, nowMs) ?? declineCode ?? approvedCode;
      const money = order.kind === 'void' && { amount: charge?.amount ?? null, currency: charge?.currency ?? null };
      const entry = newEntry({ ...order, ...money }, code, entries.size + 1, circumstances);
      restore(entry);
      return entry;
    },
  };
}
