import type { Clock } from '../../server/platform/clock.ts';
import type { Secret } from '../../server/platform/secret.ts';
import type { Faults } from '../faults.ts';
import type { Journal } from '../journal.ts';
import type { Books, BooksLine } from './books.ts';
import type { Disputes } from './disputes.ts';
import type { Notices } from './notices.ts';

/** What the parts of the simulator share. */

/** What a merchant arranges with Adyen. Without it, the simulator does what a new account does. */
export interface AccountSettings {
  /** The role "API PCI Payments role", which Adyen gives on evidence of PCI compliance. */
  takes_card_numbers: boolean;
  /** Adyen's support makes it optional for Ecommerce and ContAuth. */
  requires_cvc: boolean;
  /** Whether answers have our reference, the amount and the results of the checks: Developers, Additional data. */
  additional_data: boolean;
  /** Whether banks want the customer to confirm each payment, as in Europe. */
  wants_authentication: boolean;
  /** Whether banks recognize their customers without asking them. */
  frictionless: boolean;
  /** Whether a payment that the customer has confirmed is authorized although the customer does not come back. */
  completes_alone: boolean;
}

const habits = { wants_authentication: false, frictionless: false, completes_alone: false };
export const newAccount: AccountSettings = {
  takes_card_numbers: false,
  requires_cvc: true,
  additional_data: false,
  ...habits,
};

/** An account as docs/processors/adyen.md asks a merchant to arrange it. */
export const arrangedAccount: AccountSettings = {
  takes_card_numbers: true,
  requires_cvc: false,
  additional_data: true,
  ...habits,
};

/** Settings as they arrive at `POST /control` or the command line. */
export const settingsIn = (fields: Readonly<Record<string, unknown>>): Partial<AccountSettings> =>
  Object.fromEntries(
    Object.keys(newAccount).flatMap((name) => (typeof fields[name] === 'boolean' ? [[name, fields[name]]] : [])),
  );

export const accountWith = (changes: Readonly<Record<string, unknown>> = {}): AccountSettings => ({
  ...newAccount,
  ...settingsIn(changes),
});

export interface SimulatorOptions {
  readonly journalFile: string;
  readonly apiKey: Secret<string>;
  readonly hmacKey: Secret<string>;
  readonly merchantAccount: string;
  readonly clock: Clock;
  /** A request that is executed late is executed within this time. */
  readonly requestLifeMs: number;
  readonly account?: Readonly<Record<string, unknown>> | undefined;
}

export const requests = ['authorization', 'details', 'capture', 'refund', 'void', 'cancel'] as const;
export type RequestKind = (typeof requests)[number];

export interface Simulator {
  readonly books: Books;
  readonly faults: Faults<RequestKind | 'notice'>;
  readonly journal: Journal;
  readonly notices: Notices;
  readonly disputes: Disputes;
  readonly options: SimulatorOptions;
  readonly inProgress: Set<string>;
  readonly account: AccountSettings;
  /** Changed by `POST /control`. */
  settleAfterMs: number;
  /** Whether the account reports the reference of the card network. A new one does not. */
  reportsNetworkReferences: boolean;
  /** Where browsers reach the simulator. */
  origin: string;
  isRevoked: boolean;
}

export const write = ({ books, journal }: Simulator, line: BooksLine): void => {
  books.apply(line);
  void journal.append(line);
};
