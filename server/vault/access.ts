import { createBatcher } from '../platform/batcher.ts';
import type { Clock } from '../platform/clock.ts';
import type { DatabasePool } from '../platform/database.ts';
import { inTime } from '../platform/in-time.ts';
import { CardNumber } from './card-number.ts';
import type { Decline, DeclineLimits } from './decline-limits.ts';
import { type DeclineCounter, declineCounter } from './declines.ts';
import { type KeyStore, keyModeOf } from './key-store.ts';
import { open } from './keys.ts';
import { type Connected, type ConnectedProcessors, connectedProcessors } from './processors/connections.ts';
import { type ProcessorHealth, watchProcessors } from './processors/observed.ts';
import type { ProcessorCard } from './processors/processor.ts';
import { findCards } from './queries.ts';
import { openSecurityCodes, type SecurityCodes } from './security-codes.ts';
import type { CardReference, ChargedCard, VaultOperation, VaultOutcome } from './vault.ts';

const unavailable = (reason: string): VaultOutcome => ({ outcome: 'unavailable', reason });
const unknown = (reason: string): VaultOutcome => ({ outcome: 'unknown', reason });

export interface Access {
  readonly codes: SecurityCodes;
  readonly processors: ConnectedProcessors;
  readonly health: ProcessorHealth;
  readonly counter: DeclineCounter;
  openCard(operation: Pick<VaultOperation, 'companyId' | 'mode'>, card: ChargedCard): Promise<OpenedCard | undefined>;
  /** Passes an operation to its processor. */
  at(operation: VaultOperation, operate: (connected: Connected) => Promise<VaultOutcome>): Promise<VaultOutcome>;
}

export interface OpenedCard extends ProcessorCard {
  readonly networkTransactionIds: Readonly<Record<string, string>>;
  /** What the processor answered about the CVC when the card was captured. */
  readonly cvvResult: string | null;
  readonly declines: readonly Decline[];
}

interface VaultOptions {
  /** Origins that processors may have beside those of their kind. */
  readonly extraOrigins: readonly string[];
  readonly declineLimits: DeclineLimits;
}

/** What every operation needs: the card in plain text, and its processor. */
export function openAccess(
  db: DatabasePool,
  keys: KeyStore,
  clock: Clock,
  { extraOrigins, declineLimits }: VaultOptions,
): Access {
  const health = watchProcessors();
  const processors = connectedProcessors(db, keys, extraOrigins, health);
  const findCard = createBatcher('cards', (wanted: readonly CardReference[]) => findCards(db, wanted));
  return {
    codes: openSecurityCodes(),
    processors,
    health,
    counter: declineCounter(db, keys, clock, declineLimits),
    async openCard({ companyId, mode }, { cardId, expMonth, expYear }) {
      const sealed = await findCard({ companyId, cardId });
      if (!sealed) return undefined;
      const number = new CardNumber(
        open(await keys.ring(keyModeOf(mode), sealed.keyVersion), companyId, cardId, sealed),
      );
      const { networkTransactionIds, cvvResult, declines } = sealed;
      return { number, cardId, expMonth, expYear, networkTransactionIds, cvvResult, declines };
    },
    async at({ companyId, mode, connectionId }, operate) {
      let connected: Connected | undefined;
      try {
        connected = await processors(companyId, mode, connectionId);
      } catch {
        return unavailable('failed to read the processor of the company');
      }
      if (!connected) {
        const reason = 'no processor is connected, or its credentials were removed';
        return { outcome: 'not_sent', reason, failureCode: 'invalid_merchant_configuration' };
      }
      try {
        if (mode === 'sandbox') return await operate(connected);
        const late = unknown('the processor did not respond in time');
        return await inTime<VaultOutcome>(operate(connected), operationMaxMs, late);
      } catch {
        return unknown('the processor failed');
      }
    },
  };
}

/**
 * How long an answer is awaited. It is shorter than the time for which an operation is reserved for its process, so that a
 * process that waits is not taken for one that has stopped.
 */
export const operationMaxMs = 25_000;
