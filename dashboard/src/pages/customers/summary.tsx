import { useQuery } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { DateTime } from '../../components/date-time.tsx';
import { money } from '../../format.ts';
import { useSignedIn } from '../../session.ts';
import type { CustomerSummaries } from '../../types.ts';

/** What the customers of the list have ordered and paid. One request for all rows of a page, after the list itself is shown. */

type Summary = CustomerSummaries['data'][number];

let waiting: { readonly ids: Set<string>; readonly answer: Promise<ReadonlyMap<string, Summary>> } | undefined;

/** Customers that are asked for in the same moment share a request. */
function load(id: string): Promise<Summary | null> {
  if (!waiting) {
    const ids = new Set<string>();
    const answer = Promise.resolve().then(async () => {
      waiting = undefined;
      const { data } = await call<CustomerSummaries>('GET', '/dashboard/customer_summaries', {
        query: { customer_id: [...ids].join(',') },
      });
      return new Map(data.map((summary) => [summary.customer_id, summary]));
    });
    waiting = { ids, answer };
  }
  waiting.ids.add(id);
  return waiting.answer.then((found) => found.get(id) ?? null);
}

function useSummary(id: string): Summary | null | undefined {
  const { company } = useSignedIn();
  return useQuery({ queryKey: [company.id, 'customer summary', id], queryFn: () => load(id) }).data;
}

interface CellProps {
  readonly id: string;
}

export function OrderCount({ id }: CellProps) {
  const summary = useSummary(id);
  if (!summary) return <Pending isPending={summary === undefined} />;
  return summary.orders.toLocaleString('en-US') + (summary.is_partial ? '+' : '');
}

/** Currencies are never added up. */
export function Spend({ id }: CellProps) {
  const summary = useSummary(id);
  if (!summary) return <Pending isPending={summary === undefined} />;
  if (summary.spend.length === 0) return <span className="text-muted">—</span>;
  const more = summary.is_partial ? '+' : '';
  return summary.spend.map(({ amount, currency }) => money(amount, currency) + more).join(' · ');
}

export function LastOrder({ id }: CellProps) {
  const summary = useSummary(id);
  if (!summary) return <Pending isPending={summary === undefined} />;
  return <DateTime at={summary.last_order_at} />;
}

const Pending = ({ isPending }: { isPending: boolean }) =>
  isPending ? <span className="skeleton w-12" /> : <span className="text-muted">—</span>;
