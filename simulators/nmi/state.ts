import type { Clock } from '../../server/platform/clock.ts';
import type { Faults } from '../faults.ts';
import type { Journal } from '../journal.ts';
import type { Books } from './books.ts';
import { type AccountRules, noRules } from './rules.ts';
import type { Endpoint, Webhooks } from './webhooks.ts';

/** The state of the simulator NMI. */

/** Settings of `POST /control` beside those of every simulator. */
export interface Settings extends AccountRules {
  /** A new account compares the card and the amount. It can be set to compare the order id too. */
  duplicate_check: 'card_and_amount' | 'with_order_id' | 'off';
  /** A new transaction is missing in reports for this time. */
  lag_ms: number;
  is_revoked: boolean;
  test_mode: boolean;
  /** Whether the order id of a refund is ignored, which then has the order id of its charge. */
  ignores_refund_order: boolean;
  /** Where webhooks go. */
  webhook: Endpoint | null;
}

export const defaults: Settings = {
  duplicate_check: 'card_and_amount',
  lag_ms: 0,
  is_revoked: false,
  test_mode: false,
  ignores_refund_order: false,
  webhook: null,
  ...noRules,
};

export type Request = 'charge' | 'capture' | 'refund' | 'void' | 'verify' | 'lookup' | 'notice';

export interface Simulator {
  readonly books: Books;
  readonly faults: Faults<Request>;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly requestLifeMs: number;
  readonly settings: Settings;
  /** Digests of cards with amounts, for the duplicate check. They live in memory only. */
  readonly recent: Map<string, number>;
  readonly webhooks: Webhooks;
  settleAfterMs: number | undefined;
  isKey(text: string): boolean;
}
