import { insist } from '../../../platform/insist.ts';
import { recordWhereItIs } from '../../../shards/follow.ts';
import type { Charging } from './charging.ts';

/**
 * Records what a call to the processor did. Waits for a database that restarts. If the company has moved to another
 * shard while the processor worked, the operation is open there, and its result is recorded there.
 */
export function recordResult<Result>(
  charging: Charging,
  { company_id }: { readonly company_id: string },
  write: (there: Charging) => Promise<Result>,
): Promise<Result> {
  return insist(() => recordWhereItIs(charging, charging.movedTo, company_id, write));
}

/** The shard where the company is now. */
export async function whereItIs(
  charging: Charging,
  { company_id }: { readonly company_id: string },
): Promise<Charging> {
  return (await charging.movedTo?.(company_id).catch(() => undefined)) ?? charging;
}
