import type { ServiceKey } from '../../platform/service-keys.ts';
import type { Background } from '../../platform/background.ts';
import type { ControlPool, Queryable } from '../../platform/database.ts';
import type { Shards } from '../../shards/shards.ts';
import type { Logger } from '../../platform/log.ts';
import type { TeamDependencies } from '../team/service.ts';
import type { AttemptDependencies } from './login-attempts.ts';
import type { OneTimeSignIn } from './one-time-sign-in.ts';
import type { SessionDependencies } from './sessions.ts';

export interface UserDependencies extends SessionDependencies, AttemptDependencies {
  readonly db: ControlPool;
  readonly shards: Shards;
  readonly team: TeamDependencies;
  readonly background: Background;
  readonly log: Logger;
  readonly totpKey: ServiceKey;
  /** Password reset links and recovery codes are stored as hashes with this key. */
  readonly recoveryKey: ServiceKey;
  /** Whether anyone can sign up. */
  readonly signUpOpen: boolean;
  /** Only where the service listens on the local machine. */
  readonly oneTimeSignIn?: OneTimeSignIn | undefined;
}

/** Records the audit entry of a change to a user. */
export interface UserAudit {
  /**
   * In every company of the user, before the change: they may be on other servers, and a change without its entry is
   * worse than an entry without its change.
   */
  before(userId: string): Promise<void>;
  /** In the transaction that changes a company. */
  within(transaction: Queryable, member: AuditedMember): Promise<void>;
}

export interface AuditedMember {
  readonly companyId: string;
  readonly memberId: string;
  readonly email: string;
}
