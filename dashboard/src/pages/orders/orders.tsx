import { lazy, Suspense } from 'react';
import { CardName } from '../../components/card-mark.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { AmountCell, CustomerCell, StatusCell, statusOf } from '../../components/payment-cells.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import {
  brandFilter,
  couponFilter,
  currencyFilter,
  customerFilter,
  datesFilter,
  failureFilter,
  type Filter,
  planFilter,
  productFilter,
  statusFilter,
} from '../../list-filters.ts';
import { money } from '../../format.ts';
import { useCan, useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { lists } from '../../texts/lists.ts';
import { orders } from '../../texts/orders.ts';
import type { Order } from '../../types.ts';

// Loaded when the first order is selected.
const BulkRefundButton = lazy(async () => ({ default: (await import('./bulk-refund.tsx')).BulkRefundButton }));

const statuses: readonly Order['status'][] = [
  'succeeded',
  'failed',
  'pending',
  'partially_refunded',
  'refunded',
  'refund_failed',
  'voided',
  'chargeback',
  'chargeback_accepted',
  'chargeback_dismissed',
];

const filters: readonly Filter[] = [
  statusFilter(statuses),
  {
    kind: 'choices',
    name: 'authorized',
    label: orders.authorized,
    single: true,
    choices: [
      { value: 'true', label: orders.held },
      { value: 'false', label: orders.notHeld },
    ],
  },
  datesFilter,
  { kind: 'amount', name: 'total', label: common.amount },
  customerFilter,
  currencyFilter,
  brandFilter,
  failureFilter,
  productFilter,
  couponFilter,
  planFilter,
];

const example = { customer_id: '…', items: [{ product_id: '…', quantity: 1 }] };

export function OrdersPage() {
  const expand = useExpand('customer');
  const canWrite = useCan('orders:write');
  const button = canWrite && (
    <LinkButton to="/orders/new" kind="primary" icon="plus">
      {orders.add}
    </LinkButton>
  );
  return (
    <Page title={orders.title} lead={orders.lead} actions={button}>
      <ResourceTable<Order>
        path="/v1/orders"
        query={{ expand }}
        label={orders.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/orders/${id}`}
        search={{ placeholder: lists.searchOrders }}
        filters={filters}
        exports="orders"
        bulk={(selected, done) =>
          canWrite && (
            <Suspense>
              <BulkRefundButton selected={selected} onDone={done} />
            </Suspense>
          )
        }
        columns={[
          {
            header: common.amount,
            sum: true,
            sort: 'total',
            cell: ({ total, currency, customer }) => (
              <AmountCell amount={total} currency={currency} customer={customer} />
            ),
          },
          {
            header: common.status,
            cell: (row) => <StatusCell status={statusOf(row)} reason={row.failure_code} at={row.created_at} />,
          },
          {
            header: orders.number,
            cell: ({ order_number }) => <span className="font-mono text-[13px]">{order_number}</span>,
            wide: true,
          },
          {
            header: common.customer,
            cell: ({ customer }) => <CustomerCell customer={customer} />,
            wide: true,
            fills: true,
          },
          { header: common.card, cell: ({ payment_method: card }) => <CardName card={card} />, wide: true },
          {
            header: orders.items,
            cell: ({ items }) => items.map(({ name }) => name).join(', '),
            wide: true,
            wraps: true,
            extra: true,
          },
          {
            header: orders.refunded,
            cell: ({ refunded_amount, currency }) => (refunded_amount > 0 ? money(refunded_amount, currency) : '—'),
            wide: true,
            extra: true,
            end: true,
          },
          { header: orders.coupon, cell: ({ coupon }) => coupon?.code ?? '—', wide: true, extra: true },
          {
            header: common.date,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={orders.emptyTitle} actions={button}>
            <p>{orders.empty}</p>
            <Curl path="/v1/orders" body={example} keyed />
          </Empty>
        }
      />
    </Page>
  );
}
