import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Panel } from '../../components/page.tsx';
import { OnPhone, Table } from '../../components/table.tsx';
import { useList } from '../../data.ts';
import { money } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { home } from '../../texts/home.ts';
import type { Order } from '../../types.ts';

export function LatestOrders() {
  const orders = useList<Order>('/v1/orders', { limit: 5, expand: 'customer' });
  if (orders.data?.data.length === 0 || orders.error) return null;
  return (
    <Panel
      title={home.latestOrders}
      flush
      actions={
        <LinkButton small to="/orders">
          {common.seeAll}
        </LinkButton>
      }
    >
      <Table
        label={home.latestOrders}
        rows={orders.data?.data}
        keyOf={({ id }) => id}
        link={({ id }) => `/orders/${id}`}
        columns={[
          {
            header: common.amount,
            cell: ({ total, currency, customer }) => (
              <>
                {money(total, currency)}
                <OnPhone>{customer?.email}</OnPhone>
              </>
            ),
          },
          {
            header: common.status,
            cell: ({ status, created_at }) => (
              <>
                <Badge status={status} />
                <OnPhone>
                  <DateTime at={created_at} />
                </OnPhone>
              </>
            ),
          },
          { header: common.customer, cell: ({ customer }) => customer?.email ?? '—', wide: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
      />
    </Panel>
  );
}
