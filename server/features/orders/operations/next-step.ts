import { customerCauses, type OperationCause, type OperationState } from './operation-moves.ts';

/**
 * Decides what happens to an operation at a processor: a function of its state, of who waits for it, of what the processor
 * said, of whether another connection can take the charge, and of whether the company is closed after a restore. Requests,
 * the worker, lookups and notices of processors carry out what it says; none of them decides by itself.
 */

/** What the connection answered to the operation. */
export const sendAnswers = [
  'approved',
  'declined',
  /** The processor failed, and not the card's bank. */
  'processor_failed',
  /** The processor refuses the credentials of the merchant. Nothing was executed. */
  'credentials_refused',
  /** The account does not take such a charge. Nothing was sent. */
  'not_taken',
  /** The card was deleted. */
  'no_card',
  /** The card was declined too often for the card networks. Nothing was sent, and no other connection is tried. */
  'held_back',
  /** The processor did not get the operation. */
  'not_received',
  /** It will never be executed under this reference, which was given up before: the records have forgotten that. */
  'never_executed',
  /** The processor got it too late, by its own clock. */
  'expired',
  /** It may have been executed. */
  'lost',
  /** The same, because a part of the service stopped. */
  'interrupted',
  /** A part of the service is away, so nothing was sent. */
  'service_away',
  /** The processor has another operation under the reference: that of a key, a paid one, or one that moved no money. */
  'conflict_of_key',
  'conflict_paid',
  'conflict_unpaid',
  /** The processor has the operation of an earlier use of the key. */
  'expired_key',
  /** The bank wants to ask the customer, who is present. */
  'needs_customer',
] as const;
export type SendAnswer = (typeof sendAnswers)[number];

/** What it answered to a lookup, or reported by itself. */
export const lookupAnswers = [
  'approved',
  'settled',
  'declined',
  'lost',
  'conflict_of_key',
  'conflict_paid',
  'conflict_unpaid',
  'expired_key',
  /** It was not executed, and will not be. It must not be sent again. */
  'not_found',
  /** It was not executed. Under the same reference it may be sent again. */
  'not_executed',
  /** It will never be executed under this reference. */
  'never_executed',
] as const;
export type LookupAnswer = (typeof lookupAnswers)[number];

/** What it answered while the customer has time. */
export const customerAnswers = [...lookupAnswers, 'needs_customer'] as const;
export type CustomerAnswer = (typeof customerAnswers)[number];

/** The types leave out what cannot be: an operation that waits was not sent, so it hears nothing, and only a refund is accepted. */
export type Situation = {
  /** Whether another connection can take the charge. */
  readonly next: 'none' | 'another';
  /** A company is closed while its processors are compared with the books after a restore. */
  readonly gate: 'open' | 'closed';
} & (
  | { readonly state: 'sending'; readonly cause: OperationCause; readonly heard: SendAnswer }
  | {
      readonly state: 'in_doubt' | 'interrupted';
      readonly cause: OperationCause;
      readonly heard: LookupAnswer;
    }
  | { readonly state: 'accepted'; readonly cause: 'refund'; readonly heard: LookupAnswer }
  | {
      readonly state: 'with_customer';
      readonly cause: (typeof customerCauses)[number];
      readonly heard: CustomerAnswer;
    }
);

export type Step =
  /** Send it under its reference to the next connection. */
  | 'send_at_next'
  /** Send it with the next number of its subject. */
  | 'send_as_next'
  /** Send it with a later validity. */
  | 'extend'
  /** Wait until a lookup is due. */
  | 'wait_for_lookup'
  /** The same. If nothing was executed, it is sent again. */
  | 'wait_as_interrupted'
  /** Wait until the worker sends it. */
  | 'wait_for_service'
  /** Wait until the request is repeated, for an hour. */
  | 'wait_for_request'
  /** Wait until the merchant has corrected the connection. */
  | 'wait_for_credentials'
  | 'wait_for_connection'
  | 'wait_for_settlement'
  /** Wait until the bank has asked the customer, or the time for it is over. */
  | 'wait_for_customer'
  /** Wait until the company is open again. */
  | 'wait_for_comparison'
  /** The answer is the outcome. */
  | 'record'
  /** The answer is the outcome. Then charge the order at the next connection. */
  | 'record_and_hand_over'
  /** It did not happen, and the reference belongs to another operation. */
  | 'record_as_other'
  /** It did not happen, and leaves nothing. */
  | 'discard';

type Some<Value> = readonly Value[];
interface Row {
  readonly state: Some<OperationState>;
  readonly cause: Some<OperationCause>;
  readonly heard: Some<SendAnswer | CustomerAnswer>;
  readonly next?: Situation['next'];
  readonly gate?: Situation['gate'];
  readonly step: Step;
}

const sending: Row['state'] = ['sending'];
const doubted: Row['state'] = ['in_doubt', 'interrupted'];
const inFlight: Row['state'] = ['sending', 'in_doubt', 'interrupted'];
const charges: Row['cause'] = ['order', 'first_charge', 'plan_change', 'retry', 'renewal'];
/** A customer waits for the answer, and repeats the request. */
const requested: Row['cause'] = ['order', 'first_charge', 'plan_change'];
const refunds: Row['cause'] = ['refund'];
/** A merchant waits for the answer, and the charge or authorization stays as it was if nothing is executed. */
const following: Row['cause'] = ['refund', 'void', 'capture'];
const all: Row['cause'] = [...charges, ...following];
/** It is certain that nothing was executed. */
const unexecuted: Row['heard'] = [
  'credentials_refused',
  'not_taken',
  'no_card',
  'held_back',
  'not_received',
  'service_away',
];
const missing: Row['heard'] = ['not_found', 'not_executed', 'never_executed'];
const atBank: Row['state'] = ['with_customer'];

/** Each situation has exactly one row. A test makes all situations from the types. */
export const rows: readonly Row[] = [
  // The bank has decided.
  { state: inFlight, cause: all, heard: ['approved', 'declined'], step: 'record' },
  { state: doubted, cause: all, heard: ['settled'], step: 'record' },
  { state: ['accepted'], cause: refunds, heard: ['settled', 'declined'], step: 'record' },
  { state: ['accepted'], cause: refunds, heard: ['approved', ...missing], step: 'wait_for_settlement' },

  // The processor failed. Another one may approve the charge, as a new transaction.
  { state: sending, cause: charges, heard: ['processor_failed'], next: 'another', step: 'record_and_hand_over' },
  { state: sending, cause: charges, heard: ['processor_failed'], next: 'none', step: 'record' },
  { state: sending, cause: following, heard: ['processor_failed'], step: 'record' },

  // Nothing was executed. While the company is closed, another connection may have executed it before the restore.
  {
    state: sending,
    cause: charges,
    heard: [...unexecuted, 'never_executed'],
    gate: 'closed',
    step: 'wait_for_comparison',
  },
  {
    state: sending,
    cause: charges,
    heard: ['credentials_refused', 'not_taken', 'not_received'],
    next: 'another',
    gate: 'open',
    step: 'send_at_next',
  },
  // A customer waits, so an order fails at once. A renewal waits until the merchant has corrected the mistake.
  ...(['credentials_refused', 'not_taken'] as const).flatMap((heard): Row[] => [
    {
      state: sending,
      cause: ['renewal'],
      heard: [heard],
      next: 'none',
      gate: 'open',
      step: heard === 'not_taken' ? 'wait_for_connection' : 'wait_for_credentials',
    },
    {
      state: sending,
      cause: [...requested, 'retry'],
      heard: [heard],
      next: 'none',
      gate: 'open',
      step: 'record',
    },
  ]),
  { state: sending, cause: charges, heard: ['not_received'], next: 'none', gate: 'open', step: 'record' },
  { state: sending, cause: charges, heard: ['no_card', 'held_back'], gate: 'open', step: 'record' },
  // The charge was made under the next reference, or is made now.
  { state: sending, cause: charges, heard: ['never_executed'], gate: 'open', step: 'send_as_next' },
  // Our own outage is never a decline. A retry leaves the order as it was.
  { state: sending, cause: requested, heard: ['service_away'], gate: 'open', step: 'wait_for_request' },
  { state: sending, cause: ['renewal'], heard: ['service_away'], gate: 'open', step: 'wait_for_service' },
  { state: sending, cause: ['retry'], heard: ['service_away'], gate: 'open', step: 'discard' },
  { state: sending, cause: following, heard: [...unexecuted, 'never_executed'], step: 'discard' },
  { state: sending, cause: all, heard: ['expired'], step: 'extend' },

  // It may have been executed.
  { state: sending, cause: all, heard: ['lost'], step: 'wait_for_lookup' },
  { state: sending, cause: all, heard: ['interrupted'], step: 'wait_as_interrupted' },
  { state: [...doubted, 'accepted'], cause: all, heard: ['lost'], step: 'wait_for_lookup' },

  // The bank asks the customer. Where no customer is present, a lookup ends it.
  { state: sending, cause: customerCauses, heard: ['needs_customer'], step: 'wait_for_customer' },
  {
    state: sending,
    cause: ['renewal', ...following],
    heard: ['needs_customer'],
    step: 'wait_for_lookup',
  },
  { state: atBank, cause: customerCauses, heard: ['approved', 'settled', 'declined'], step: 'record' },
  { state: atBank, cause: customerCauses, heard: ['needs_customer', 'lost'], step: 'wait_for_customer' },
  // The processor has ended it by itself. After a restore, it may have been executed under another reference.
  { state: atBank, cause: customerCauses, heard: missing, gate: 'open', step: 'record' },
  { state: atBank, cause: customerCauses, heard: missing, gate: 'closed', step: 'wait_for_customer' },
  // When the time of the customer is over, it is in doubt, and these are decided.
  {
    state: atBank,
    cause: customerCauses,
    heard: ['conflict_of_key', 'conflict_paid', 'conflict_unpaid', 'expired_key'],
    step: 'wait_for_customer',
  },

  // The reference belongs to another operation.
  { state: sending, cause: charges, heard: ['conflict_of_key'], step: 'record' },
  { state: sending, cause: following, heard: ['conflict_of_key'], step: 'discard' },
  { state: sending, cause: [...charges, ...refunds], heard: ['conflict_unpaid', 'expired_key'], step: 'send_as_next' },
  // A paid charge with the same subject may be the same payment, so another charge could charge twice.
  { state: inFlight, cause: charges, heard: ['conflict_paid'], step: 'wait_for_lookup' },
  // Another refund of the order is simply another refund.
  { state: sending, cause: refunds, heard: ['conflict_paid'], step: 'send_as_next' },
  {
    state: sending,
    cause: ['void', 'capture'],
    heard: ['conflict_paid', 'conflict_unpaid', 'expired_key'],
    step: 'discard',
  },
  { state: doubted, cause: charges, heard: ['conflict_of_key'], step: 'record' },
  { state: doubted, cause: charges, heard: ['expired_key'], step: 'record_as_other' },
  { state: doubted, cause: charges, heard: ['conflict_unpaid'], step: 'send_as_next' },
  {
    state: doubted,
    cause: following,
    heard: ['conflict_of_key', 'conflict_paid', 'conflict_unpaid', 'expired_key'],
    step: 'discard',
  },
  {
    state: ['accepted'],
    cause: refunds,
    heard: ['conflict_of_key', 'conflict_paid', 'conflict_unpaid', 'expired_key'],
    step: 'wait_for_settlement',
  },

  // A lookup did not find it.
  { state: doubted, cause: following, heard: missing, step: 'discard' },
  { state: doubted, cause: charges, heard: missing, gate: 'closed', step: 'wait_for_comparison' },
  { state: ['in_doubt'], cause: charges, heard: missing, gate: 'open', step: 'record' },
  { state: ['interrupted'], cause: charges, heard: ['not_found'], gate: 'open', step: 'record' },
  // A part of the service stopped before the processor had it. What happens next depends on who waits.
  {
    state: ['interrupted'],
    cause: ['renewal'],
    heard: ['not_executed', 'never_executed'],
    gate: 'open',
    step: 'wait_for_service',
  },
  {
    state: ['interrupted'],
    cause: requested,
    heard: ['not_executed', 'never_executed'],
    gate: 'open',
    step: 'wait_for_request',
  },
  {
    state: ['interrupted'],
    cause: ['retry'],
    heard: ['not_executed', 'never_executed'],
    gate: 'open',
    step: 'discard',
  },
];

const ends = ['none', 'another'] as const;
const gates = ['open', 'closed'] as const;
const nameOf = ({ state, cause, heard, next, gate }: Situation): string => `${state} ${cause} ${heard} ${next} ${gate}`;

/** A look into a table: the rows are read once. */
const steps = new Map<string, Step>();
for (const { state, cause, heard, next, gate, step } of rows) {
  for (const situation of state.flatMap((one) =>
    cause.flatMap((why) =>
      heard.flatMap((what) =>
        (next ? [next] : ends).flatMap((end) =>
          (gate ? [gate] : gates).map((door) => ({ state: one, cause: why, heard: what, next: end, gate: door })),
        ),
      ),
    ),
  )) {
    const name = nameOf(situation as Situation);
    if (steps.has(name)) throw new Error(`two steps for an operation: ${name}`);
    steps.set(name, step);
  }
}

export function nextStep(situation: Situation): Step {
  const step = steps.get(nameOf(situation));
  if (!step) throw new Error(`no step for an operation: ${nameOf(situation)}`);
  return step;
}
