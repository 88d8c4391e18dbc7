import type { Clock } from '../../../platform/clock.ts';
import type { Database, DatabasePool } from '../../../platform/database.ts';
import type { Logger } from '../../../platform/log.ts';
import type { ServiceKey } from '../../../platform/service-keys.ts';
import type { MovedTo } from '../../../shards/follow.ts';
import type { CardVerification, RejectedVerification, Vault } from '../../../vault/vault.ts';
import type { RestoreWatch } from '../../restores/service.ts';
import type { Facts, FactsRequest } from '../facts-queries.ts';
import type { Intent, Recorded } from './intent-queries.ts';
import type { OpenTransaction } from './open-queries.ts';
import type { FollowingCause } from './operation-moves.ts';
import type { BrandName } from '../../../platform/card-brands.ts';
import type { OrderRow, OrderState } from '../order.ts';
import type { OpenedSale, OpenSale } from './sales.ts';
import type { ChargeOutcome } from './record-outcomes.ts';
import type { Order } from '../schemas.ts';

/** The dependencies of the money path. */

export interface MoneyDependencies {
  readonly db: DatabasePool;
  /** The same database for the statements of the batchers, opened with `byKeySettings`. */
  readonly batchDb: DatabasePool;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Logger;
  readonly billing: Billing;
  /** The page on which the customer can confirm the payment of an order with the bank. */
  readonly confirmationUrl: (companyId: string, orderId: string) => string;
  /** Called when a processor rejected as expired a request that was sent at once. */
  readonly onExpired?: () => void;
  readonly connections: Connections;
  /** Encrypts what is kept while the customer is at the bank. A process without pages and jobs has none. */
  readonly stepKey?: ServiceKey;
  readonly restores?: Omit<RestoreWatch, 'stop'>;
  /** The same on the shard that a company has moved to. */
  readonly movedTo?: MovedTo<Charging> | undefined;
}

/** The processors that live companies are connected to. */
interface Connections {
  /** The connections that a charge may use, in the order in which they are tried. */
  candidates(charge: ChargeToPlace): Promise<readonly string[]>;
  /** Every connection that the company ever had and whose credentials are still stored. */
  ever(companyId: string): Promise<readonly string[]>;
  /** Watches how a connection answers. */
  note(at: NotedAt, call: NotedCall): void;
  /** The same for the verification of a card. */
  noteVerification(at: Omit<NotedAt, 'operation'>, found: CardVerification | RejectedVerification): void;
}

interface NotedAt {
  readonly companyId: string;
  readonly connectionId: string;
  readonly operation: 'charge' | FollowingCause;
}

interface NotedCall {
  readonly outcome: string;
  readonly reason?: string;
  readonly failureCode?: string;
  readonly refusesCredentials?: boolean;
  readonly response?: { readonly response_text: string | null };
  readonly networkTransactionId?: string;
  readonly isLookup?: boolean;
}

interface ChargeToPlace {
  readonly companyId: string;
  readonly reference: string;
  readonly currency: string;
  readonly brand: BrandName;
}

/** Subscriptions, whose orders are charged cycle by cycle. */
export interface Billing {
  /** Locks the subscriptions of these orders, and computes what each outcome changes. Runs in the transaction that records the outcomes. */
  applyOutcomes(transaction: Database, outcomes: readonly ChargeOutcome[]): Promise<BillingEffect>;
  /** Throws when the subscription of the order has ended. */
  checkRetry(transaction: Database, order: OrderRow, nowMs: number): Promise<void>;
  /** Why a renewal that waits is not to be sent any more; undefined if it is. */
  whyUnwanted(db: Database, order: OrderRow, nowMs: number): Promise<string | undefined>;
}

export interface BillingEffect {
  /** What each outcome changes on its order because it belongs to a subscription. */
  readonly orders: readonly Pick<OrderRow, 'subscription_cycle' | 'next_retry_at'>[];
  /** Records the subscriptions whose outcome took effect. */
  record(tookEffect: readonly boolean[]): Promise<void>;
}

/** The statements of a charge. Requests that arrive together share one statement. */
interface ChargeBatchers {
  readonly readFacts: (request: FactsRequest) => Promise<Facts>;
  /** Returns undefined if the intent was not recorded. */
  readonly recordIntent: (intent: Intent) => Promise<Recorded>;
  readonly recordRedeemingIntent: (intent: Intent) => Promise<Recorded>;
  /** Returns the order with the outcome; undefined if the order has changed meanwhile. */
  readonly recordOutcome: (outcome: ChargeOutcome) => Promise<Order | undefined>;
}

export interface Charging extends MoneyDependencies, ChargeBatchers {
  /** Reconciles an operation. It is passed in, because reconciliation depends on this type. */
  readonly reconcile: (open: OpenTransaction) => Promise<void>;
  /**
   * Charges an order again at its next connection, after a processor, and not the bank, has failed. Returns undefined if
   * there is none.
   */
  readonly chargeElsewhere: (
    state: OrderState,
    declined: OpenedSale,
    failed: readonly string[],
    atMs: number | undefined,
  ) => Promise<Order | undefined>;
  /** Sends a sale that waits for the vault. */
  readonly resend: (open: OpenSale) => Promise<void>;
}
