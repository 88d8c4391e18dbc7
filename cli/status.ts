import { missingOperations } from '../server/features/reconciliation/service.ts';
import { currentRestore } from '../server/features/restores/service.ts';
import { operationStatistics } from '../server/features/orders/service.ts';
import { withDatabase } from './connect.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';

/** `status`: shows the state of the service from the database and the vault. */
export async function statusCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const { db, clock } = connected;
    const [open, restore, missing] = await Promise.all([
      operationStatistics(db),
      currentRestore(db),
      missingOperations(db),
    ]);
    const vault = await withVault(connected, async (its) => ({ ready: await its.isReady(), nowMs: await its.nowMs() }));
    const skewMs = { process: clock.skewMs(), vault: vault.nowMs === undefined ? null : vault.nowMs - clock.nowMs() };
    if (flags.json) {
      return `${JSON.stringify({
        in_doubt: open.inDoubt,
        oldest_in_doubt_seconds: open.oldestInDoubtSeconds,
        waiting: open.waiting,
        vault: vault.ready ? 'ready' : 'unreachable',
        clock_skew_ms: skewMs,
        restored: restore ? { noticed_at: restore.noticed_at, noticed_by: restore.noticed_by } : null,
        missing_operations: missing,
      })}\n`;
    }
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
    const rows = [
      [
        'Charges in doubt',
        `${open.inDoubt}${open.inDoubt > 0 ? `, the oldest for ${Math.round(open.oldestInDoubtSeconds)} s` : ''}`,
      ],
      ['Charges waiting', `${open.waiting}`],
      ['Vault', vault.ready ? 'ready' : 'unreachable'],
      ['Clock of this machine', `${seconds(skewMs.process)} ahead of the database`],
      ['Clock of the vault', skewMs.vault === null ? 'unknown' : `${seconds(skewMs.vault)} ahead of the database`],
      [
        'Restored from a backup',
        restore
          ? `since ${restore.noticed_at.toISOString()} (${restore.detail}); live subscriptions are not billed until \`svc reconcile\` has run`
          : 'no',
      ],
      ['Missing operations', `${missing}`],
    ];
    return `${rows.map(([name = '', value = '']) => `${name.padEnd(24)}${value}`).join('\n')}\n`;
  });
}
