import type { ShardDatabase, Shards } from './shards.ts';

/**
 * Works on the shard where a company was. If that fails because the company has moved meanwhile, works on its new
 * shard. The control plane is asked only then, so that companies in use do not need it.
 */
export async function follow<Part extends ShardDatabase, Result>(
  { of, find }: Pick<Shards<Part>, 'of' | 'find'>,
  company: { readonly id: string; readonly shard: string },
  work: (part: Part) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(of(company));
  } catch (error) {
    const now = await find(company.id).catch(() => undefined);
    if (!now || now.name === company.shard) throw error;
    return work(now);
  }
}

/** Finds the shard of a company that has moved; undefined if the company is where it was. */
export type MovedTo<Part> = (companyId: string) => Promise<Part | undefined>;

export function movedFrom<Part extends ShardDatabase, There>(
  { find }: Pick<Shards<Part>, 'find'>,
  name: string,
  pick: (part: Part) => There,
): MovedTo<There> {
  return async (companyId) => {
    const now = await find(companyId);
    return now.name === name ? undefined : pick(now);
  };
}

/**
 * Records the result of work that began before the company may have moved. Its old shard then refuses the write, or has
 * nothing left to change, so that the write returns nothing; the new shard has what moved.
 */
export async function recordWhereItIs<Part, Result>(
  here: Part,
  movedTo: MovedTo<Part> | undefined,
  companyId: string,
  write: (part: Part) => Promise<Result>,
): Promise<Result> {
  const attempt = await write(here).then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );
  if ('result' in attempt && attempt.result) return attempt.result;
  const there = await movedTo?.(companyId).catch(() => undefined);
  if (there) return write(there);
  if ('error' in attempt) throw attempt.error;
  return attempt.result;
}
