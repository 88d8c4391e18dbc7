import {
  type Operation,
  type OperationKind,
  type ResponseCode,
  responseTexts,
} from '../../server/vault/processors/acquirer/protocol.ts';

/** An operation that the acquirer was asked to execute. Of a card it keeps only what a receipt may show. */
export interface Order {
  readonly kind: OperationKind;
  readonly reference: string;
  readonly charge_reference: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  readonly exp_month: number | null;
  readonly exp_year: number | null;
}

/** A line of the journal: an operation and its result. Later changes over time are derived from it. */
export interface Entry extends Order {
  readonly response_code: string;
  readonly transaction_id: string;
  readonly authorization_code: string | null;
  readonly taken_at_ms: number;
  readonly settles_at_ms: number;
  readonly rejected_at_settlement: boolean;
}

interface Circumstances {
  readonly nowMs: number;
  readonly settlesAtMs: number;
  /** The code with which an operation is declined that would be approved. */
  readonly declineCode?: string | undefined;
  readonly rejectAtSettlement?: boolean;
}

export interface Books {
  find(reference: string): Entry | undefined;
  /** Executes an operation whose reference `find` does not know. */
  take(order: Order, circumstances: Circumstances): Entry;
  /** Adds an operation that an earlier run executed. */
  restore(entry: Entry): void;
  /** Returns the first answer to the operation, before anything settled. */
  firstResult(entry: Entry): Operation;
  show(entry: Entry, nowMs: number): Operation;
  all(): Iterable<Entry>;
  readonly size: number;
}

const approvedCode = '00' satisfies ResponseCode;
const rejectedCode = '21' satisfies ResponseCode;

const contentFields = ['kind', 'charge_reference', 'last4', 'exp_month', 'exp_year'] as const;

export function sameContent(entry: Entry, order: Order): boolean {
  // A void carries no amount: its entry has the amount of the charge.
  const sameMoney = order.kind === 'void' || (entry.amount === order.amount && entry.currency === order.currency);
  return sameMoney && contentFields.every((field) => entry[field] === order[field]);
}

const textOf = (code: string): string => (responseTexts as Record<string, string>)[code] ?? 'Declined';

const isRejected = (entry: Entry, nowMs: number): boolean =>
  entry.rejected_at_settlement && nowMs >= entry.settles_at_ms;

function operationOf(entry: Entry, voided: boolean, nowMs: number): Operation {
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
  };
}

export function openBooks(): Books {
  const entries = new Map<string, Entry>();
  /** Approved refunds and voids, by the reference of their charge. */
  const followers = new Map<string, Entry[]>();

  const isVoided = (charge: Entry): boolean =>
    (followers.get(charge.reference) ?? []).some((entry) => entry.kind === 'void');

  function refundedAmount(charge: Entry, nowMs: number): number {
    const refunds = (followers.get(charge.reference) ?? []).filter((entry) => entry.kind === 'refund');
    return refunds.filter((entry) => !isRejected(entry, nowMs)).reduce((sum, entry) => sum + (entry.amount ?? 0), 0);
  }

  function refusal(order: Order, charge: Entry | undefined, nowMs: number): ResponseCode | undefined {
    if (order.kind === 'charge') return undefined;
    if (!charge) return '25';
    if (charge.response_code !== approvedCode || isVoided(charge)) return '12';
    const refunded = refundedAmount(charge, nowMs);
    if (order.kind === 'void') return refunded > 0 || nowMs >= charge.settles_at_ms ? '12' : undefined;
    if (order.currency !== charge.currency) return '12';
    return (order.amount ?? 0) + refunded > (charge.amount ?? 0) ? '13' : undefined;
  }

  function chargeOf(order: Order): Entry | undefined {
    const found = order.charge_reference === null ? undefined : entries.get(order.charge_reference);
    return found?.kind === 'charge' ? found : undefined;
  }

  function restore(entry: Entry): void {
    entries.set(entry.reference, entry);
    if (entry.charge_reference === null || entry.response_code !== approvedCode) return;
    const others = followers.get(entry.charge_reference);
    if (others) others.push(entry);
    else followers.set(entry.charge_reference, [entry]);
  }

  const show = (entry: Entry, nowMs: number): Operation =>
    operationOf(entry, entry.kind === 'charge' && isVoided(entry), nowMs);

  return {
    restore,
    show,
    firstResult: (entry) => ({ ...show(entry, Number.NEGATIVE_INFINITY), voided: false }),
    find: (reference) => entries.get(reference),
    all: () => entries.values(),
    get size() {
      return entries.size;
    },
    take(order, { nowMs, settlesAtMs, declineCode, rejectAtSettlement = false }) {
      const charge = chargeOf(order);
      const code = refusal(order, charge, nowMs) ?? declineCode ?? approvedCode;
      const approved = code === approvedCode;
      const sequence = entries.size + 1;
      const entry: Entry = {
        ...order,
        ...(order.kind === 'void' && { amount: charge?.amount ?? null, currency: charge?.currency ?? null }),
        response_code: code,
        transaction_id: `acq_${String(sequence).padStart(9, '0')}`,
        authorization_code: approved ? String(sequence % 1_000_000).padStart(6, '0') : null,
        taken_at_ms: nowMs,
        settles_at_ms: order.kind === 'void' ? nowMs : settlesAtMs,
        rejected_at_settlement: approved && rejectAtSettlement,
      };
      restore(entry);
      return entry;
    },
  };
}
