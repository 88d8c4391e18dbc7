import { CardName } from '../../components/card-mark.tsx';
import { LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Panel } from '../../components/page.tsx';
import { AmountCell, StatusCell, statusOf } from '../../components/payment-cells.tsx';
import { Table } from '../../components/table.tsx';
import { useList } from '../../data.ts';
import { personName } from '../../format.ts';
import { useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { home } from '../../texts/home.ts';
import { orders as orderTexts } from '../../texts/orders.ts';
import type { Order } from '../../types.ts';

export function LatestOrders() {
  const expand = useExpand('customer');
  const orders = useList<Order>('/v1/orders', { limit: 8, expand });
  if (orders.data?.data.length === 0 || orders.error) return null;
  return (
    <Panel
      title={home.latestOrders}
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
            sum: true,
            cell: ({ total, currency, customer }) => (
              <AmountCell amount={total} currency={currency} customer={customer} />
            ),
          },
          {
            header: common.status,
            cell: (row) => <StatusCell status={statusOf(row)} at={row.created_at} />,
          },
          {
            header: orderTexts.number,
            cell: ({ order_number }) => <span className="font-mono text-[13px]">{order_number}</span>,
            wide: true,
          },
          {
            header: common.customer,
            cell: ({ customer }) =>
              customer ? (
                <>
                  {personName(customer)} <span className="text-muted">{customer.email}</span>
                </>
              ) : (
                '—'
              ),
            wide: true,
            wraps: true,
          },
          {
            header: common.card,
            cell: ({ payment_method: card }) => <CardName card={card} />,
            wide: true,
          },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
      />
    </Panel>
  );
}
