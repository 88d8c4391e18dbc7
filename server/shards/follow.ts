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
