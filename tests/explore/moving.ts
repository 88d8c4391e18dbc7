import { copyCompanies, copyRestores, removeFences, removeTriggers } from '../../server/shards/move/queries.ts';
import { clean, type Move, prepare, stop, switchOver } from '../../server/shards/move/steps.ts';
import { companies, findTables } from '../../server/shards/move/tables.ts';
import type { Laboratory, Merchant } from './laboratory.ts';

/**
 * The move of a merchant to the other shard, in steps between which the service works. The rows are copied at once while
 * writes are stopped, which is what replication comes to.
 */

interface MoveStep {
  readonly name: string;
  readonly run: () => Promise<void>;
  /** How long the operator waits before it. */
  readonly afterMs?: number;
}

/** Longer than a process remembers the shard of a company. */
const keptMs = 10_000;

export interface PlannedMove {
  readonly steps: readonly MoveStep[];
  /** Removes what a move that has not ended leaves in the databases. */
  abandon(): Promise<void>;
}

export async function planMove({ service, shards, copyRows }: Laboratory, merchant: Merchant): Promise<PlannedMove> {
  const [source, target] = shards.map(({ name, owner }) => ({ name, db: owner })) as [Move['source'], Move['target']];
  const { companyIds } = merchant;
  const [row] = await source.db.query<{ account_id: string }>('SELECT account_id FROM companies WHERE id = $1', [
    companyIds[0],
  ]);
  const accountId = row?.account_id ?? '';
  const move: Move = { control: service.control, source, target, sourceUrl: '', accountId, companyIds, keptMs: 0 };
  return {
    steps: [
      { name: 'prepare the move', run: () => prepare(move) },
      { name: 'stop the writes', run: () => stop(move) },
      {
        name: 'copy the rows',
        async run() {
          await copyRows(companyIds);
          await copyRestores(source.db, target.db);
          await copyCompanies(source.db, target.db, companyIds);
        },
      },
      { name: 'switch to the other shard', run: () => switchOver(move) },
      { name: 'clean the old shard', run: () => clean(move), afterMs: keptMs },
    ],
    async abandon() {
      const name = `svc_move_${accountId.replaceAll('-', '')}`;
      for (const table of [...(await findTables(source.db)), companies]) await removeTriggers(source.db, table, name);
      for (const { db } of [source, target]) await removeFences(db, companyIds);
    },
  };
}
