import type { Background } from '../../platform/background.ts';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { TeamDependencies } from '../team/service.ts';
import type { AttemptDependencies } from './login-attempts.ts';
import type { SessionDependencies } from './sessions.ts';

export interface UserDependencies extends SessionDependencies, AttemptDependencies {
  readonly db: DatabasePool;
  readonly team: TeamDependencies;
  readonly background: Background;
  readonly log: Logger;
  readonly totpKey: Buffer;
  /** Links for new passwords and recovery codes are kept as hashes with it. */
  readonly recoveryKey: Buffer;
  /** Whether strangers can open an account. */
  readonly signUpOpen: boolean;
}

/** Writes the audit entry of what is done, in the transaction in which it is done. */
export type RecordAudit = (db: Queryable, userId: string) => Promise<void>;
