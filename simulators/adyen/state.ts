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
}

export const newAccount: AccountSettings = { takes_card_numbers: false, requires_cvc: true, additional_data: false };

/** An account as docs/processors/adyen.md asks a merchant to arrange it. */
export const arrangedAccount: AccountSettings = {
  takes_card_numbers: true,
  requires_cvc: false,
  additional_data: true,
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

export const requests = ['authorization', 'capture', 'refund', 'void', 'cancel'] as const;
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
  isRevoked: boolean;
}

export const write = ({ books, journal }: Simulator, line: BooksLine): void => {
  books.apply(line);
  void journal.append(line);
};
