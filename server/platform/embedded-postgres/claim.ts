import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from './embedded-postgres.ts';
import { acquireSingleInstanceLock } from './instance-lock.ts';

export interface ClaimedPostgres {
  readonly connectionString: string;
  /** False if another process uses the data folder. The server is then not ours to stop. */
  readonly isOurs: boolean;
  /** Stops the server if it is ours. */
  stop(): Promise<void>;
}

interface ClaimOptions extends EmbeddedPostgresOptions {
  readonly onLockLost?: (error: Error) => void;
}

const retryMs = 50;
const attempts = 5;

/**
 * Starts or adopts the server of a data folder, and takes its single instance lock. A server that is stopped between the
 * two, by the process or the watchdog that it belonged to, is started again.
 */
export async function claimEmbeddedPostgres({
  onLockLost,
  onUnexpectedExit,
  ...options
}: ClaimOptions): Promise<ClaimedPostgres> {
  for (let attempt = 1; ; attempt += 1) {
    let isClaimed = false;
    const postgres = await startEmbeddedPostgres({
      ...options,
      onUnexpectedExit: (code) => isClaimed && onUnexpectedExit?.(code),
    });
    const { connectionString, adopted } = postgres;
    try {
      const lock = await acquireSingleInstanceLock(connectionString, onLockLost);
      if (!lock) return { connectionString, isOurs: false, stop: async () => postgres.leave() };
      isClaimed = true;
      postgres.guard();
      const stop = async (): Promise<void> => {
        await lock.release();
        await postgres.stop();
      };
      return { connectionString, isOurs: true, stop };
    } catch (error) {
      postgres.leave();
      if (!adopted || attempt === attempts || !isShuttingDown(error)) throw error;
      await sleep(retryMs);
    }
  }
}

/** The server refuses connections or has ended them because it shuts down, or it is gone already. */
function isShuttingDown(error: unknown): boolean {
  const codes = ['57P01', '57P03', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];
  return codes.includes(errorCode(error) ?? '') || /Connection terminated/.test(String(error));
}
