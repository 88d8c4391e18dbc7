import type { Clock } from '../../server/platform/clock.ts';
import type { Secret } from '../../server/platform/secret.ts';
import type { Faults } from '../faults.ts';
import type { Journal } from '../journal.ts';
import type { Books, BooksLine } from './books.ts';
import type { Disputes } from './disputes.ts';
import type { Notices } from './notices.ts';

/** What the parts of the simulator share. */

export interface SimulatorOptions {
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

export interface Simulator {
  readonly books: Books;
  readonly faults: Faults<RequestKind | 'notice'>;
  readonly journal: Journal;
  readonly notices: Notices;
  readonly disputes: Disputes;
  readonly options: SimulatorOptions;
  readonly inProgress: Set<string>;
  /** Changed by `POST /control`. */
  settleAfterMs: number;
  isRevoked: boolean;
}

export const write = ({ books, journal }: Simulator, line: BooksLine): void => {
  books.apply(line);
  void journal.append(line);
};
