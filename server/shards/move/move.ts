import { inParallel } from '../../platform/in-parallel.ts';
import { findShard, staysHere } from '../queries.ts';
import { firstShard, type ShardDatabase, type Shards } from '../shards.ts';
import { withMoveLock } from './lock.ts';
import { MoveError } from './sql.ts';
import { abort, check, clean, copy, type Move, nothingToAbort, prepare, stopAndSwitch, switchOver } from './steps.ts';

/** Moves the companies of an account, live and sandbox, to another shard. A move that was interrupted continues. */

export interface Mover {
  readonly shards: Pick<Shards, 'control' | 'all' | 'of'>;
  /** The URL of a shard, as the servers of the other shards use it. */
  readonly urlOf: (shard: string) => string;
  /** Longer than a request takes, and than any process remembers the shard of a company. */
  readonly keptMs: number;
  /** Called with the name of each step. */
  readonly onStep: (step: string) => void;
}

export interface Moved {
  readonly companyIds: readonly string[];
  readonly from: string;
  readonly to: string;
  /** How long writes were refused; undefined if the companies had switched in an earlier run. */
  readonly stopMs: number | undefined;
}

interface Account {
  readonly accountId: string;
  readonly companyIds: readonly [string, ...string[]];
  /** The shard that its companies are on. */
  readonly current: ShardDatabase;
}

export async function findAccount({ shards }: Mover, companyId: string): Promise<Account> {
  const current = shards.of({ shard: await findShard(shards.control, companyId) });
  const rows = await current.db.query<{ id: string; account_id: string }>(
    'SELECT id, account_id FROM companies WHERE account_id = (SELECT account_id FROM companies WHERE id = $1) ORDER BY id',
    [companyId],
  );
  const [first, ...rest] = rows;
  if (!first) throw new MoveError(`No shard has the company ${companyId}.`);
  return { accountId: first.account_id, companyIds: [first.id, ...rest.map(({ id }) => id)], current };
}

const moveOf = (
  { shards, urlOf, keptMs }: Mover,
  account: Account,
  source: ShardDatabase,
  target: ShardDatabase,
): Move => ({
  control: shards.control,
  source,
  target,
  sourceUrl: urlOf(source.name),
  accountId: account.accountId,
  companyIds: account.companyIds,
  keptMs,
});

const askedAtOnce = 8;

/** The shards, other than their own, where these companies have a fence. */
async function fencedOnOthers(
  { shards }: Mover,
  { current, companyIds }: Account,
  states: string[],
): Promise<ShardDatabase[]> {
  const others = shards.all.filter(({ name }) => name !== current.name);
  const found = await inParallel(others, askedAtOnce, async (shard) => {
    const rows = await shard.db.query('SELECT 1 FROM company_fences WHERE company_id = ANY($1) AND state = ANY($2)', [
      companyIds,
      states,
    ]);
    return rows.length > 0 ? [shard] : [];
  });
  return found.flat();
}

/** Finishes earlier moves whose command ended after the switch. */
async function finish(mover: Mover, account: Account): Promise<void> {
  for (const source of await fencedOnOthers(mover, account, ['leaving', 'left'])) {
    const move = moveOf(mover, account, source, account.current);
    await switchOver(move);
    await clean(move);
  }
}

export async function moveCompanies(mover: Mover, companyId: string, to: string): Promise<Moved> {
  const { accountId } = await findAccount(mover, companyId);
  const target = mover.shards.of({ shard: to });
  return withMoveLock(mover.urlOf(firstShard), accountId, async () => {
    const account = await findAccount(mover, companyId);
    const { current, companyIds } = account;
    const result = { companyIds, from: current.name, to };
    if (current.name === to) {
      mover.onStep('clean');
      await finish(mover, account);
      return { ...result, stopMs: undefined };
    }
    const move = moveOf(mover, account, current, target);
    await check(move);
    if (!(await isUnderWay(mover, account))) await finish(mover, account);
    mover.onStep('prepare');
    await prepare(move);
    mover.onStep('copy');
    await copy(move);
    mover.onStep('switch');
    const stopMs = await stopAndSwitch(move);
    mover.onStep('clean');
    await clean(move);
    return { ...result, stopMs };
  });
}

async function movingTo({ shards }: Mover, { companyIds }: Account): Promise<string | undefined> {
  const [row] = await shards.control.query<{ moving_to: string }>(
    'SELECT moving_to FROM company_shards WHERE company_id = ANY($1) AND moving_to IS NOT NULL',
    [companyIds],
  );
  return row?.moving_to;
}

const isUnderWay = async (mover: Mover, account: Account): Promise<boolean> =>
  (await movingTo(mover, account)) !== undefined;

/** Removes what has arrived on the other shard. The companies stay where they are. */
export async function abortMove(mover: Mover, companyId: string): Promise<Moved> {
  const { accountId } = await findAccount(mover, companyId);
  return withMoveLock(mover.urlOf(firstShard), accountId, async () => {
    const account = await findAccount(mover, companyId);
    const { current, companyIds } = account;
    const to = await movingTo(mover, account);
    if (to === undefined) {
      const [left] = await fencedOnOthers(mover, account, ['leaving', 'left']);
      throw new MoveError(
        left
          ? `The companies have left shard "${left.name}" and are on "${current.name}". Move them back instead.`
          : nothingToAbort,
      );
    }
    // The directory no longer names the target once an abort has begun, but its fence does.
    const [arriving] = await fencedOnOthers(mover, account, ['arriving']);
    const target = arriving ?? mover.shards.of({ shard: to });
    await abort(moveOf(mover, account, current, target));
    return { companyIds, from: current.name, to: target.name, stopMs: undefined };
  });
}

/** A company of each account that lives on a shard. */
export async function accountsOn({ db }: ShardDatabase): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT DISTINCT ON (account_id) id FROM companies WHERE ${staysHere('id')} ORDER BY account_id, id`,
  );
  return rows.map(({ id }) => id);
}
