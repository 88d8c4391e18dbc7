/**
 * Named points on the path of money at which a test can kill the process: `SVC_FAILPOINT=name` ends it there with
 * SIGKILL, as a power cut would. Without the variable a failpoint does nothing.
 */
export const failpoints = [
  'charge.before_intent',
  'charge.after_intent',
  'charge.after_prepare',
  'charge.after_handle',
  'charge.before_saved_card',
  'charge.after_saved_card',
  'charge.after_processor',
  'charge.after_record',
  'capture.before_intent',
  'capture.after_intent',
  'capture.after_processor',
  'capture.after_record',
  'refund.before_intent',
  'refund.after_intent',
  'refund.after_processor',
  'refund.after_accept',
  'refund.before_settlement',
  'refund.after_settlement',
  'retry.before_intent',
  'retry.after_intent',
  'retry.after_processor',
  'retry.after_record',
  'plan_change.before_intent',
  'plan_change.after_intent',
  'plan_change.after_processor',
  'plan_change.after_record',
  'renewal.before_intent',
  'renewal.after_intent',
  'renewal.after_processor',
  'renewal.after_record',
  'void.before_intent',
  'void.after_intent',
  'void.after_processor',
  'void.after_record',
  'reconcile.after_lookup',
] as const;

/** While the customer is at the bank; in `tests/bank-failpoints.test.ts`. */
export const bankFailpoints = [
  'bank.after_step',
  'bank.before_resume',
  'bank.after_resume',
  'bank.after_record',
  'bank.before_end',
] as const;

/** While a customer saves a card; in `tests/card-failpoints.test.ts`. */
export const cardFailpoints = [
  'card.after_wish',
  'card.after_processor',
  'card.after_step',
  'card.before_resume',
  'card.after_resume',
  'card.after_record',
] as const;

/** Between two writes on different servers, which no transaction joins. */
export const accountFailpoints = [
  'sign_up.after_companies',
  'sign_up.after_user',
  'invitation.after_user',
  'invitation.after_member',
  'api_key.after_lookup',
] as const;

/** While documents get their numbers; in `server/features/invoices/numbers.test.ts`. */
export const invoiceFailpoints = ['invoices.numbers_taken', 'invoices.numbers_written'] as const;

export type Failpoint =
  | (typeof failpoints)[number]
  | (typeof bankFailpoints)[number]
  | (typeof cardFailpoints)[number]
  | (typeof invoiceFailpoints)[number]
  | (typeof accountFailpoints)[number];

const armed = process.env.SVC_FAILPOINT;

export function failpoint(name: Failpoint): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL');
}
