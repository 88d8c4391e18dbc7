import type { ReactNode } from 'react';
import { DateTime } from '../../components/date-time.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { customers } from '../../texts/customers.ts';
import type { CustomerValue } from '../../types.ts';
import { Link } from '../../routing.tsx';

/** What the customer is worth. Currencies are never added up. */
export function Value({ customerId }: { customerId: string }) {
  const { data } = useGet<CustomerValue>(`/dashboard/customers/${customerId}/value`);
  if (!data || (data.spend === null && data.mrr === null)) return null;
  const { spend, mrr, last_order: last, is_partial } = data;
  const total = (name: 'payments' | 'failed_payments'): number =>
    (spend ?? []).reduce((sum, one) => sum + one[name], 0);
  const more = is_partial ? '+' : '';
  return (
    <dl className="mb-8 grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3 lg:grid-cols-5">
      {spend && (
        <>
          <Figure
            label={customers.spent}
            values={spend.map((one) => money(one.gross - one.refunded, one.currency) + more)}
          />
          <Figure label={customers.payments} values={[total('payments').toLocaleString('en-US') + more]} />
          <Figure label={customers.failedPayments} values={[total('failed_payments').toLocaleString('en-US') + more]} />
          <Figure
            label={customers.lastOrder}
            values={[
              last ? (
                <Link key={last.id} to={`/orders/${last.id}`} className="hover:underline">
                  <DateTime at={last.created_at} />
                </Link>
              ) : (
                '—'
              ),
            ]}
          />
        </>
      )}
      {mrr && <Figure label={customers.mrr} values={mrr.map((one) => money(one.mrr, one.currency))} />}
    </dl>
  );
}

function Figure({ label, values }: { label: string; values: readonly ReactNode[] }) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-muted">{label}</dt>
      {(values.length > 0 ? values : ['—']).map((value, index) => (
        <dd key={index} className="truncate text-lg font-semibold tabular-nums">
          {value}
        </dd>
      ))}
    </div>
  );
}
