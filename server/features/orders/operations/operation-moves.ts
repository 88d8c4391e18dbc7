/** The states of an operation at a processor, and the moves between them: from, because, to. All others are forbidden. */

export const operationStates = [
  /** A process sends it, or is about to. */
  'sending',
  /** The answer is lost. A lookup finds the outcome. */
  'in_doubt',
  /** The same, but a part of the service stopped: if nothing was executed, a scheduled charge is sent again. */
  'interrupted',
  /** Nothing was executed and nothing is under way. It is sent when what it waits for is there. */
  'waiting',
  /** The processor has accepted a refund, which has to settle. */
  'accepted',
  /**
   * The bank wants to confirm a charge, and the customer was led there. Nothing was executed. Until the time of the customer is
   * over, recovery neither cancels nor completes it: only the processor is asked whether the bank has decided.
   */
  'with_customer',
] as const;
export type OperationState = (typeof operationStates)[number];

/** Why an operation is made, and so who waits for its outcome. */
export const operationCauses = [
  'order',
  'retry',
  'first_charge',
  'renewal',
  /** The price of a change of plan, for the rest of a period. */
  'plan_change',
  'refund',
  'void',
  'capture',
] as const;
export type OperationCause = (typeof operationCauses)[number];
/** An operation on a charge or an authorization that is recorded. */
export type FollowingCause = 'refund' | 'void' | 'capture';
export type ChargeCause = Exclude<OperationCause, FollowingCause>;

export const operationTriggers = [
  /** It is sent once more, with another validity, at another connection or with another reference. */
  'sent_again',
  /** A lookup or a notice has found what it needs to continue: it was executed, or never will be. */
  'resolved',
  'answer_lost',
  'service_stopped',
  /** It could not be sent, and waits. */
  'not_sent',
  /** It is certain that an interrupted charge was not executed: it waits for the worker, which sends it. */
  'not_executed',
  /** A process takes an operation that waits, to send it or to give it up. */
  'taken',
  /** An operation that waits is not wanted any more. */
  'recalled',
  /** The worker looks at an operation that is due. */
  'checked',
  'accepted',
  'outcome_recorded',
  /** After a restore, a processor lists it as executed. */
  'listed',
  /** The process that sent it knows that nothing was executed. */
  'nothing_executed',
  /** The bank wants to ask the customer, who is present. */
  'customer_asked',
  /** The time of the customer is over, or another payment was begun instead: from now on, a lookup ends it. */
  'customer_gone',
] as const;
export type OperationTrigger = (typeof operationTriggers)[number];

type Move = readonly [from: OperationState, because: OperationTrigger, to: OperationState | 'closed'];

export const operationMoves: readonly Move[] = [
  ['sending', 'sent_again', 'sending'],
  ['sending', 'resolved', 'sending'],
  ['in_doubt', 'resolved', 'sending'],
  ['interrupted', 'resolved', 'sending'],
  ['sending', 'answer_lost', 'in_doubt'],
  ['in_doubt', 'answer_lost', 'in_doubt'],
  ['interrupted', 'answer_lost', 'in_doubt'],
  ['sending', 'service_stopped', 'interrupted'],
  ['in_doubt', 'service_stopped', 'interrupted'],
  ['interrupted', 'service_stopped', 'interrupted'],
  ['sending', 'not_sent', 'waiting'],
  ['sending', 'not_executed', 'waiting'],
  ['in_doubt', 'not_executed', 'waiting'],
  ['interrupted', 'not_executed', 'waiting'],
  ['waiting', 'taken', 'sending'],
  ['waiting', 'recalled', 'waiting'],
  // A process that has not recorded an outcome in time has stopped.
  ['sending', 'checked', 'interrupted'],
  ['in_doubt', 'checked', 'in_doubt'],
  ['interrupted', 'checked', 'interrupted'],
  ['waiting', 'checked', 'waiting'],
  ['accepted', 'checked', 'accepted'],
  ['sending', 'accepted', 'accepted'],
  ['in_doubt', 'accepted', 'accepted'],
  ['interrupted', 'accepted', 'accepted'],
  ['sending', 'outcome_recorded', 'closed'],
  ['in_doubt', 'outcome_recorded', 'closed'],
  ['interrupted', 'outcome_recorded', 'closed'],
  ['accepted', 'outcome_recorded', 'closed'],
  ['sending', 'listed', 'in_doubt'],
  ['in_doubt', 'listed', 'in_doubt'],
  ['interrupted', 'listed', 'in_doubt'],
  ['waiting', 'listed', 'in_doubt'],
  // While it is in doubt, a lookup may execute what was prepared.
  ['sending', 'nothing_executed', 'closed'],
  ['sending', 'customer_asked', 'with_customer'],
  ['with_customer', 'customer_gone', 'in_doubt'],
  // It is due when the time of the customer is over.
  ['with_customer', 'checked', 'in_doubt'],
  ['with_customer', 'outcome_recorded', 'closed'],
  ['with_customer', 'listed', 'in_doubt'],
];

/** What can wait for the customer at the bank: the charges that a customer can make on a page. */
export const customerCauses = [
  'order',
  'first_charge',
  'plan_change',
  'retry',
] as const satisfies readonly OperationCause[];

/** Whether the outcome is unknown, and a lookup may find it. */
export const isInDoubt = ({ state }: { readonly state: OperationState }): boolean =>
  state === 'in_doubt' || state === 'interrupted';

/** SQL: whether the operation `t` may make this move. */
export function canMove(because: OperationTrigger, t = 'open_transactions'): string {
  const states = operationMoves.filter(([, trigger]) => trigger === because).map(([from]) => `'${from}'`);
  return `${t}.state IN (${states.join(', ')})`;
}

/** SQL: the state of an operation after this move. */
export function stateAfter(because: OperationTrigger): string {
  const moves = operationMoves.filter(([, trigger]) => trigger === because);
  const [first] = moves;
  if (first && moves.every(([, , to]) => to === first[2])) return `'${first[2]}'`;
  return `CASE state ${moves.map(([from, , to]) => `WHEN '${from}' THEN '${to}'`).join(' ')} END`;
}
