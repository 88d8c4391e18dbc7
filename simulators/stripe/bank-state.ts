import type { Clock } from '../../server/platform/clock.ts';
import type { Habits } from './bank.ts';
import type { Books } from './books.ts';
import type { Notices } from './notices.ts';

/** What the parts of the simulated Stripe share. */

export interface Reply {
  readonly status: number;
  readonly body: object;
}

export interface Bank extends Habits {
  readonly books: Books;
  readonly notices: Notices;
  readonly clock: Clock;
  /** Undefined means at once for refunds, and two days for the balance of charges. */
  settleAfterMs: number | undefined;
  /** Where browsers reach the simulator. */
  origin: string;
}

export type Operate = (bank: Bank, id: string, form: URLSearchParams, fault: string | undefined) => Reply;
