import type { Company } from './company.ts';
import type { Database, Queryable } from './platform/database.ts';
import type { Presence } from './vault/processors/processor.ts';

/** The caller of a request: an API key, or a team member who is signed in to the dashboard. */
export interface Caller {
  readonly kind: 'key' | 'member';
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  /** A publishable key: it lives in browsers and has almost no permissions. */
  readonly publishable: boolean;
  /** Until then, actions on secrets and permissions do not ask for the password again. */
  readonly steppedUpUntilMs: number;
  /** The session of a member. */
  readonly session?: CallerSession;
}

/** The hashes are those that the token of the request may have in the database. */
export interface CallerSession {
  readonly id: string;
  readonly tokenHashes: readonly Buffer[];
}

/** What the shard of a company has for its requests. */
export type OfCompany<Part> = (context: Pick<RequestContext, 'company'>) => Part;

/** The data of a request that a handler uses. */
export interface RequestContext {
  readonly requestId: string;
  readonly company: Company;
  /** The company's own clock: real time plus the offset of its sandbox. */
  readonly nowMs: number;
  /** Undefined if the service itself acts, for example a job. */
  readonly caller?: Caller;
  /**
   * In an effect and in phased work: records the audit entry before an irreversible call to another system, whose answer
   * may never arrive.
   */
  readonly auditFirst?: (db: Queryable) => Promise<void>;
  /** The language of a customer who is on a page, with the country if it is known: `de-AT`. */
  readonly locale?: string;
  /** The public address of a customer who is on a page. */
  readonly customerIp?: string;
  /** The browser of a customer on a page that can lead to the bank. */
  readonly presence?: Presence;
  /** A transaction when an idempotency key was sent, so that the work and its stored answer commit together. */
  readonly db: Database;
}
