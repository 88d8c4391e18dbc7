import { CardName } from '../../components/card-mark.tsx';
import { Address } from '../../components/address.tsx';
import { Badge } from '../../components/badge.tsx';
import { statusOf } from '../../components/payment-cells.tsx';
import { ModeBadge } from '../../components/company-switcher.tsx';
import { TextLink } from '../../components/button.tsx';
import { Consents } from '../../components/consents.tsx';
import { CopyId } from '../../components/copy.tsx';
import { CustomerLink } from '../../components/customer-link.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Notes } from '../../components/notes.tsx';
import { Metadata } from '../../components/metadata.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Sums } from '../../components/sums.tsx';
import { Table } from '../../components/table.tsx';
import { Timeline } from '../../components/timeline.tsx';
import { WaitingCharge } from '../../components/waiting-charge.tsx';
import { useGet } from '../../data.ts';
import { money, shortId, words } from '../../format.ts';
import { useCan, useExpand, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { orders } from '../../texts/orders.ts';
import type { Order, Subscription } from '../../types.ts';
import { OrderActions } from './order-actions.tsx';
import { OrderDisputes, useDisputesOf } from './order-disputes.tsx';
import { WhatNow } from './what-now.tsx';
import { useParams } from '../../routing.tsx';

const pollMs = 2_000;

export function OrderPage() {
  const expand = [useExpand('customer'), 'consents'].filter(Boolean).join(',');
  const { id = '' } = useParams();
  const path = `/v1/orders/${id}`;
  const query = useGet<Order>(path, { expand });
  const isInProgress = query.data?.transactions.some(({ status }) => status === 'pending' || status === 'in_progress');
  // Poll while an operation is in progress at the processor, so that its outcome appears without a reload.
  useGet<Order>(path, { expand }, { enabled: isInProgress ?? false, everyMs: pollMs });
  return (
    <LoadWhole query={query} path={path}>
      {(order) => <Details order={order} />}
    </LoadWhole>
  );
}

function Details({ order }: { order: Order }) {
  const { customer, payment_method: card, currency } = order;
  const { mode } = useSignedIn().company;
  const canSeeRequests = useCan('requests:read');
  const disputes = useDisputesOf(order);
  const subscription = useSubscriptionOf(order);
  return (
    <Page
      title={orders.titleOf(order.order_number)}
      badge={
        <>
          <Badge status={statusOf(order)} />
          {mode === 'rehearsal' && <ModeBadge mode={mode} />}
        </>
      }
      lead={
        <>
          <span className="font-semibold text-ink tabular-nums">{money(order.total, currency)}</span>
          {customer && ` · ${customer.email}`}
        </>
      }
      back={{ to: '/orders', label: orders.title }}
      actions={<OrderActions order={order} disputes={disputes} />}
    >
      {order.status === 'pending' && order.capture_before === null && (
        <WaitingCharge orderId={order.id} isRenewal={order.subscription_id !== null} />
      )}
      {order.status === 'failed' && <WhatNow order={order} subscription={subscription} />}
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          <OrderDisputes disputes={disputes} />
          <Items order={order} subscription={subscription} />
          <Panel title={orders.transactions}>
            <Table
              label={orders.transactions}
              rows={order.transactions}
              keyOf={({ id }) => id}
              link={({ id }) => `/transactions/${id}`}
              columns={[
                { header: common.type, cell: ({ type }) => words(type) },
                { header: common.amount, cell: ({ amount }) => money(amount, currency), end: true },
                {
                  header: common.status,
                  cell: ({ status, failure_reason }) => (
                    <>
                      <Badge status={status} />
                      {failure_reason && failure_reason !== order.failure_reason && (
                        <span className="block text-sm text-muted">{failure_reason}</span>
                      )}
                    </>
                  ),
                },
                { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
              ]}
            />
          </Panel>
          <Timeline objectId={order.id} state={order.status} withoutReasons />
        </div>
        <div className="min-w-0">
          <Panel title={common.details}>
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={order.id} />],
                [common.customer, <CustomerLink key="customer" id={order.customer_id} customer={customer} />],
                [common.card, <CardName key="card" card={card} />],
                order.capture_before !== null && [
                  orders.captureBefore,
                  <DateTime key="capture" at={order.capture_before} />,
                ],
                order.authorized_amount !== null && [orders.authorized, money(order.authorized_amount, currency)],
                order.authorized_amount !== null && [orders.captured, money(order.captured_amount, currency)],
                order.attempt_count > 0 && [orders.attempts, order.attempt_count],
                order.next_retry_at !== null && [orders.nextRetry, <DateTime key="retry" at={order.next_retry_at} />],
                order.subscription_id !== null && [
                  orders.subscription,
                  <TextLink key="subscription" to={`/subscriptions/${order.subscription_id}`}>
                    {orders.cycle(
                      subscription?.plan.name,
                      order.subscription_change === null ? (order.subscription_cycle ?? 1) : null,
                    )}
                  </TextLink>,
                ],
                order.coupon !== null && [
                  orders.coupon,
                  <TextLink key="coupon" to={`/coupons/${order.coupon.id}`}>
                    {order.coupon.code}
                  </TextLink>,
                ],
                order.description !== null && [common.description, order.description],
                order.shipping !== null && [
                  customers.shippingAddress,
                  <Address key="shipping" address={order.shipping} />,
                ],
                canSeeRequests &&
                  order.request_id !== null && [
                    orders.request,
                    <TextLink key="request" to="/developers/requests" search={{ request_id: order.request_id }}>
                      {shortId(order.request_id)}
                    </TextLink>,
                  ],
                [common.created, <DateTime key="created" at={order.created_at} />],
              ]}
            />
          </Panel>
          <Consents consents={order.consents} />
          <Notes of="order" id={order.id} />
          <Metadata metadata={order.metadata} />
        </div>
      </div>
    </Page>
  );
}

/** Undefined if the order has none, or the member cannot read it. */
function useSubscriptionOf({ subscription_id: id }: Order): Subscription | undefined {
  const enabled = useCan('subscriptions:read') && id !== null;
  return useGet<Subscription>(`/v1/subscriptions/${id}`, {}, { enabled }).data;
}

interface Line {
  readonly name: string;
  readonly to: string | null;
  readonly quantity?: number;
  readonly unitPrice?: number | null;
  readonly total: number | null;
}

/** As on the receipt: the plan with its price, the setup fee, and then the products. */
function linesOf(order: Order, subscription: Subscription | undefined): Line[] {
  const { items, subtotal, subscription_cycle, subscription_change, description } = order;
  const products = items.map(({ product_id, name, quantity, unit_price, total }) => ({
    name,
    to: `/products/${product_id}`,
    quantity,
    unitPrice: unit_price,
    total,
  }));
  if (!subscription) return products;
  const { plan, plan_id, quantity } = subscription;
  const added = items.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const price = subtotal - added;
  if (subscription_change !== null) return [{ name: description ?? plan.name, to: `/plans/${plan_id}`, total: price }];
  const isFirst = (subscription_cycle ?? 1) === 1;
  const setupFee = isFirst ? Math.max(0, price - plan.amount * quantity) : 0;
  return [
    { name: plan.name, to: `/plans/${plan_id}`, total: price - setupFee },
    ...(setupFee > 0 ? [{ name: orders.setupFee, to: null, total: setupFee }] : []),
    ...products,
  ];
}

function Items({ order, subscription }: { order: Order; subscription: Subscription | undefined }) {
  const { currency } = order;
  return (
    <Panel title={orders.items}>
      <Table
        label={orders.items}
        rows={linesOf(order, subscription)}
        keyOf={({ name, to }) => to ?? name}
        link={({ to }) => to}
        columns={[
          { header: orders.item, cell: ({ name }) => name, wraps: true },
          { header: orders.quantity, cell: ({ quantity }) => quantity, end: true },
          {
            header: orders.unitPrice,
            cell: ({ unitPrice }) => (typeof unitPrice === 'number' ? money(unitPrice, currency) : null),
            end: true,
            wide: true,
          },
          {
            header: orders.total,
            cell: ({ total }) => (total === null ? orders.included : money(total, currency)),
            end: true,
          },
        ]}
      />
      <div className="border-t border-line py-3">
        <Sums
          sums={[
            order.discount_amount > 0 && [orders.subtotal, money(order.subtotal, currency)],
            order.discount_amount > 0 && [orders.discount, `−${money(order.discount_amount, currency)}`],
            [orders.total, money(order.total, currency)],
            order.credit_applied > 0 && [orders.creditApplied, money(order.credit_applied, currency)],
            order.refunded_amount > 0 && [orders.refunded, `−${money(order.refunded_amount, currency)}`],
            order.credit_refunded > 0 && [orders.creditRefunded, money(order.credit_refunded, currency)],
          ]}
        />
      </div>
    </Panel>
  );
}
