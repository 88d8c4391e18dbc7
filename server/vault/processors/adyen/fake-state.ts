import type { Clock } from '../../../platform/clock.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Faults } from '../simulator/faults.ts';
import type { Journal } from '../simulator/journal.ts';
import type { Books, BooksLine } from './fake-books.ts';
import type { Disputes } from './fake-disputes.ts';
import type { Notices } from './fake-notices.ts';

/** What the parts of the fake share. */

export interface FakeOptions {
  readonly journalFile: string;
  readonly apiKey: Secret<string>;
  readonly hmacKey: Secret<string>;
  readonly merchantAccount: string;
  readonly clock: Clock;
  /** A request that is executed late is executed within this time. */
  readonly requestLifeMs: number;
}

export const requests = ['authorization', 'capture', 'refund', 'void', 'cancel'] as const;
export type RequestKind = (typeof requests)[number];

export interface Fake {
  readonly books: Books;
  readonly faults: Faults<RequestKind | 'notice'>;
  readonly journal: Journal;
  readonly notices: Notices;
  readonly disputes: Disputes;
  readonly options: FakeOptions;
  readonly inProgress: Set<string>;
  /** Changed by `POST /control`. */
  settleAfterMs: number;
  isRevoked: boolean;
}

export const write = ({ books, journal }: Fake, line: BooksLine): void => {
  books.apply(line);
  void journal.append(line);
};
