import type { Searcher } from '../customers/queries.ts';
import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, type Arm, containing, equalId, everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import { isUuid } from '../../platform/ids.ts';
import { sql } from '../../platform/sql.ts';
import { armsOfLastFour, armsOfOwners, cardExpires, idArms } from '../orders/search-queries.ts';
import { subscriptionColumns } from './queries.ts';
import type { SubscriptionRow } from './subscription.ts';

const source: ListSource = {
  table: 'subscriptions s',
  objectType: 'subscription',
  columns: subscriptionColumns,
  sorts: {},
};

type Choices = Partial<Readonly<Record<'status' | 'currency' | 'card_brand' | 'card_expires', readonly string[]>>>;

export interface SubscriptionFilters extends QueryValues<typeof createdAtFilters>, Choices {
  readonly q?: string;
  readonly customer_id?: string;
  readonly plan_id?: string;
}

const plansMax = 50;

async function armsOfText(searcher: Searcher, text: string): Promise<Arm[]> {
  const { db, company } = searcher;
  const companyId = company.id;
  const plans = await db.query<{ id: string }>(
    `SELECT id FROM (SELECT id, name, plan_code FROM plans WHERE company_id = $1 ORDER BY id DESC LIMIT 10000) AS newest
     WHERE name ILIKE $2 OR plan_code ILIKE $2 LIMIT $3`,
    [companyId, containing(text), plansMax],
  );
  return [
    ...idArms('id', isUuid(text) ? [text.toLowerCase()] : []),
    ...(await armsOfOwners(searcher, text)),
    ...(await armsOfLastFour(db, companyId, text)),
    ...idArms(
      'plan_id',
      plans.map(({ id }) => id),
      plansMax,
    ),
  ];
}

async function armsOf(searcher: Searcher, filters: SubscriptionFilters): Promise<Arm[]> {
  const { q, customer_id, plan_id, status } = filters;
  if (q !== undefined) return armsOfText(searcher, q.trim());
  if (customer_id) return [keyArm('customer_id', 'uuid', [customer_id])];
  if (status) return [keyArm('status', 'text', status)];
  return plan_id ? [keyArm('plan_id', 'uuid', [plan_id])] : [everyRow];
}

/** The subscription of a first charge that is under way is not listed unless it is asked for. */
export async function listSubscriptions(
  searcher: Searcher,
  filters: SubscriptionFilters,
  page: PageRequest,
): Promise<Page<SubscriptionRow>> {
  const { db, company } = searcher;
  return searchPage(db, company.id, source, page, {
    arms: await armsOf(searcher, filters),
    ranges: { id: createdAtConditions(filters) },
    checks: [
      ...equalId('customer_id', filters.customer_id),
      ...equalId('plan_id', filters.plan_id),
      ...(filters.status ? anyOf('status', filters.status) : [sql`status <> 'pending'`]),
      ...anyOf('currency', filters.currency),
      ...anyOf('card_brand', filters.card_brand),
      ...cardExpires(filters.card_expires),
    ],
  });
}
