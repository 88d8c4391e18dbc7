import type { Queryable } from '../../platform/database.ts';
import { failingAfter } from '../webhooks/health-queries.ts';
import type { Attention } from './schemas.ts';

export interface FoundAttention {
  readonly kind: Attention['data'][number]['kind'];
  readonly count: number;
  readonly has_more: boolean;
  readonly since: Date | null;
  readonly object_id: string | null;
}

/** A larger count says no more, and would read more rows. */
const countMax = 1_000;

/** The type of the columns: with another one, the index of them is of no use. */
const monthOf = (at: string): string => `(extract(year FROM ${at})::smallint, extract(month FROM ${at})::smallint)`;

/** `$1` is the company, `$2` its time, `$3` the connections that do not answer. */
const sources: Readonly<Record<FoundAttention['kind'], string>> = {
  agents_asking: `SELECT id::text, expires_at AS since FROM agent_approvals
    WHERE company_id = $1 AND state = 'waiting' AND asked_in = 'dashboard' AND expires_at > now()`,
  disputes_due: `SELECT id::text, evidence_due_at AS since FROM disputes
    WHERE company_id = $1 AND state = 'needs_response' ORDER BY evidence_due_at`,
  // Held funds that are released within a day.
  authorizations_ending: `SELECT id::text, capture_before AS since FROM orders
    WHERE company_id = $1 AND capture_before <= $2::timestamptz + interval '1 day' ORDER BY capture_before`,
  chargebacks_unmatched: `SELECT id::text, created_at AS since FROM unmatched_chargebacks
    WHERE company_id = $1 AND state = 'open' ORDER BY created_at`,
  payments_in_doubt: `SELECT order_id::text AS id, opened_at AS since FROM open_transactions
    WHERE company_id = $1 AND state IN ('in_doubt', 'interrupted') ORDER BY opened_at`,
  processors_refusing: `SELECT id::text, refused_at AS since FROM processor_connections
    WHERE company_id = $1 AND disconnected_at IS NULL AND refused_at IS NOT NULL`,
  processors_rejecting: `SELECT id::text, rejected_at AS since FROM processor_connections
    WHERE company_id = $1 AND disconnected_at IS NULL AND rejected_at IS NOT NULL AND refused_at IS NULL`,
  processors_wanting_codes: `SELECT id::text, code_wanted_at AS since FROM processor_connections
    WHERE company_id = $1 AND disconnected_at IS NULL AND code_wanted_at IS NOT NULL`,
  // What waits has no time of its own: it is sent again every few minutes.
  renewals_waiting: `SELECT order_id::text AS id, NULL::timestamptz AS since FROM open_transactions
    WHERE company_id = $1 AND state = 'waiting' AND cause = 'renewal'`,
  notices_refused: `SELECT id::text, notice_refused_at AS since FROM processor_connections
    WHERE company_id = $1 AND removed_at IS NULL AND notice_refused_at IS NOT NULL`,
  processors_unlinked: `SELECT id::text, unlinked_at AS since FROM processor_connections
    WHERE company_id = $1 AND disconnected_at IS NULL AND unlinked_at IS NOT NULL`,
  processors_failing: `SELECT id::text, NULL::timestamptz AS since FROM processor_connections
    WHERE company_id = $1 AND disconnected_at IS NULL AND refused_at IS NULL AND id = ANY($3::uuid[])`,
  endpoints_disabled: `SELECT id::text, failing_since AS since FROM webhook_endpoints
    WHERE company_id = $1 AND status = 'disabled' AND failing_since IS NOT NULL`,
  endpoints_failing: `SELECT id::text, failing_since AS since FROM webhook_endpoints
    WHERE company_id = $1 AND status = 'enabled' AND failing_since < $2::timestamptz - ${failingAfter}`,
  subscriptions_past_due: `SELECT id::text, first_declined_at AS since FROM subscriptions
    WHERE company_id = $1 AND status = 'past_due'`,
  // Cards of subscriptions that renew, until the end of the next month.
  cards_expiring: `SELECT s.id::text, NULL::timestamptz AS since
    FROM payment_methods p JOIN subscriptions s ON s.company_id = p.company_id AND s.payment_method_id = p.id
    WHERE p.company_id = $1 AND p.deleted_at IS NULL AND s.status IN ('active', 'past_due')
      AND (p.exp_year, p.exp_month) IN (${monthOf('$2::timestamptz')}, ${monthOf(`$2::timestamptz + interval '1 month'`)})`,
};

export async function findAttention(
  db: Queryable,
  companyId: string,
  about: { readonly kinds: readonly FoundAttention['kind'][]; readonly now: Date; readonly broken: readonly string[] },
): Promise<FoundAttention[]> {
  if (about.kinds.length === 0) return [];
  const parts = about.kinds.map(
    (
      kind,
    ) => `SELECT '${kind}' AS kind, least(count(*), ${countMax})::integer AS count, count(*) > ${countMax} AS has_more,
      min(since) AS since, min(id) AS object_id FROM (${sources[kind]} LIMIT ${countMax + 1}) ${kind}`,
  );
  return db.query<FoundAttention>(
    `${parts.join(' UNION ALL ')} UNION ALL SELECT NULL, 0, false, $2::timestamptz, $3::text WHERE $1::uuid IS NULL`,
    [companyId, about.now, about.broken],
  );
}
