import type { ServiceKey } from '../../platform/service-keys.ts';
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
  readonly totpKey: ServiceKey;
  /** Password reset links and recovery codes are stored as hashes with this key. */
  readonly recoveryKey: ServiceKey;
  /** Whether anyone can sign up. */
  readonly signUpOpen: boolean;
}

/** Writes the audit entry in the transaction of the change. */
export type RecordAudit = (db: Queryable, userId: string) => Promise<void>;
