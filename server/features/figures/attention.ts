import { lackingOf } from '../../http/caller.ts';
import type { ReadPermission } from '../../http/permissions.ts';
import type { RequestContext } from '../../request-context.ts';
import { findAttention, type FoundAttention } from './attention-queries.ts';
import type { Attention } from './schemas.ts';

type AttentionKind = Attention['data'][number]['kind'];

/** Which permission a kind needs. */
const needs: Readonly<Record<AttentionKind, ReadPermission>> = {
  agents_asking: 'orders:read',
  disputes_due: 'orders:read',
  authorizations_ending: 'orders:read',
  chargebacks_unmatched: 'orders:read',
  payments_in_doubt: 'transactions:read',
  processors_refusing: 'company:read',
  processors_rejecting: 'company:read',
  processors_wanting_codes: 'company:read',
  renewals_waiting: 'orders:read',
  notices_refused: 'company:read',
  processors_unlinked: 'company:read',
  processors_failing: 'company:read',
  endpoints_disabled: 'webhook_endpoints:read',
  endpoints_failing: 'webhook_endpoints:read',
  subscriptions_past_due: 'subscriptions:read',
  cards_expiring: 'subscriptions:read',
};

/** What a merchant should look at, the most urgent first. Kinds that the member may not read are left out. */
export async function getAttention(
  { db, company, nowMs, caller }: RequestContext,
  brokenConnections: () => readonly string[],
): Promise<Attention> {
  const kinds = (Object.keys(needs) as AttentionKind[]).filter((kind) => lackingOf(caller, [needs[kind]]).length === 0);
  const found = await findAttention(db, company.id, { kinds, now: new Date(nowMs), broken: brokenConnections() });
  const shown = ({ kind, count, has_more, since, object_id }: FoundAttention): Attention['data'][number] => ({
    kind,
    count,
    has_more,
    since: since?.toISOString() ?? null,
    object_id: count === 1 ? object_id : null,
  });
  return { data: kinds.flatMap((kind) => found.filter((one) => one.kind === kind && one.count > 0).map(shown)) };
}
