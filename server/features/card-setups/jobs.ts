import type { ServiceKey } from '../../platform/service-keys.ts';
import { newRequestId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { OpenShard } from '../../shards/shards.ts';
import type { Vault } from '../../vault/vault.ts';
import { companyById } from '../companies/service.ts';
import { type ContinueDependencies, continueSetup, dueSetups } from './service.ts';

interface Surroundings extends OpenShard {
  readonly vault: Vault;
  readonly log: Logger;
  readonly orders: { readonly charging: { readonly stepKey?: ServiceKey } };
}

/** Asks whether the banks have decided about cards whose browser may be closed. Returns how many were asked about. */
export async function continueSetups(
  shard: Surroundings,
  completed: ContinueDependencies['completed'],
  count: number,
): Promise<number> {
  const { db, clock, vault, log, orders } = shard;
  const linkKey = orders.charging.stepKey;
  if (!linkKey) return 0;
  const due = await dueSetups({ db }, count);
  for (const row of due) {
    const company = await companyById(shard, row.company_id);
    if (!company) continue;
    const context = { requestId: newRequestId(), company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
    try {
      await continueSetup({ linkKey, completed, cards: { vault, clock } }, context, row);
    } catch (error) {
      const { company_id, payment_method_id } = row;
      log.warn({ err: error, company_id, payment_method_id }, 'a bank was not asked about a card');
    }
  }
  return due.length;
}
