import { ApiError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { insist } from '../../platform/insist.ts';
import type { Logger } from '../../platform/log.ts';
import type { Opened, OpenTransaction } from '../transactions/service.ts';
import type { Vault } from '../../vault/vault.ts';
import type { Facts, Intent, Question } from './charge-queries.ts';
import type { OrderRow } from './order.ts';
import type { Ending } from './sales.ts';
import type { Order } from './schemas.ts';

/** What moving money needs. */
export interface MoneyDependencies {
  readonly db: DatabasePool;
  /** The same database for the statements of the lanes, opened with `byKeySettings`. */
  readonly lanesDb: DatabasePool;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Logger;
  readonly billing: Billing;
  /** A processor refused a request as expired that was sent at once. */
  readonly onExpired?: () => void;
}

/** Who has orders charged cycle by cycle: asked in the transaction in which such a charge ends. */
export interface Billing {
  /** Locks what the orders belong to, and says what the end of each charge makes of it. */
  conclude(transaction: Database, endings: readonly Ending[]): Promise<Conclusion>;
  /** Refuses to charge an order again that nobody is billed for any longer. */
  checkRetry(transaction: Database, order: OrderRow, nowMs: number): Promise<void>;
}

export interface Conclusion {
  /** What the end of the charge makes of each order, beside what it makes of any order. */
  readonly orders: readonly Pick<OrderRow, 'subscription_cycle' | 'next_retry_at'>[];
  /** Writes down the rest, of those whose end took effect. */
  record(tookEffect: readonly boolean[]): Promise<void>;
}

/** The statements of a new charge, shared by all requests that arrive together. */
export interface ChargeLanes {
  readonly read: (question: Question) => Promise<Facts>;
  /** Undefined where the intent was not recorded. */
  readonly intend: (intent: Intent) => Promise<Opened | undefined>;
  readonly intendRedeeming: (intent: Intent) => Promise<Opened | undefined>;
  /** The order as the end of the charge leaves it; undefined where it has moved on meanwhile. */
  readonly end: (ending: Ending) => Promise<Order | undefined>;
}

export interface Charging extends MoneyDependencies, ChargeLanes {
  /** Recovery, which itself needs all of this. */
  readonly lookAt: (open: OpenTransaction) => Promise<void>;
  /** Sends a sale that waits for the vault. */
  readonly resend: (open: OpenTransaction) => Promise<void>;
}

/** How long an operation is left to the process that began it; longer than its processor may take to answer. */
export const lockMs = { sandbox: 5_000, live: 30_000 } as const;

/** After these times since it came into doubt an operation is asked about; then daily. */
const checksAfterMs = [5, 15, 60, 300, 1_800, 7_200].map((seconds) => seconds * 1_000);
const dayMs = 86_400_000;
export const firstCheckMs = checksAfterMs[0] ?? dayMs;
export const checkDelaysMs = [
  ...checksAfterMs.slice(1).map((after, index) => after - (checksAfterMs[index] ?? 0)),
  dayMs,
];

/** How long a sale that could not be sent waits for its request to be repeated. */
export const repeatWithinMs = 3_600_000;
/** How often the worker tries again to send a sale that fell due. */
export const resendDelayMs = 10_000;

export function gatewayError(what: string): ApiError {
  const message = `The processor did not answer, so it is not known yet whether the ${what} happened. Repeat the request with the same idempotency key; nothing is done twice.`;
  return new ApiError('gateway_error', message, { unfinished: true });
}

export function vaultUnavailable(what: string, details: { readonly unfinished: boolean }): ApiError {
  const message = `The ${what} was not sent, because the card vault cannot be reached. Repeat the request with the same idempotency key.`;
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '2' }, ...details });
}

export function notSentError(what: string): ApiError {
  return new ApiError(
    'gateway_error',
    `The processor cannot be reached; the ${what} did not happen. Repeat the request.`,
  );
}

export { insist };
