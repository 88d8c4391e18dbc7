import { useState } from 'react';
import { call } from '../../api.ts';
import { cyclesOf, joinFree } from '../../bills.ts';
import { CardName } from '../../components/card-mark.tsx';
import { Address } from '../../components/address.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Consents } from '../../components/consents.tsx';
import { CopyId } from '../../components/copy.tsx';
import { CustomerLink } from '../../components/customer-link.tsx';
import { DateTime, DaysOf } from '../../components/date-time.tsx';
import { Metadata } from '../../components/metadata.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { Timeline } from '../../components/timeline.tsx';
import { WaitingCharge } from '../../components/waiting-charge.tsx';
import { useGet, useList } from '../../data.ts';
import { amountOrFree, money, personName, subscriptionPrice } from '../../format.ts';
import { useCan, useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { orders } from '../../texts/orders.ts';
import { planChanges } from '../../texts/plan-changes.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Order, Renewal, Subscription, UpcomingBills } from '../../types.ts';
import { CancelSubscription, DunningNotice, EndingNotice } from './cancel-subscription.tsx';
import { ChangeCard } from './change-card.tsx';
import { ChangePlan, ScheduledNotice } from './change-plan.tsx';
import { RenewalItems } from './renewal-items.tsx';
import { ChangeSubscription } from './change-subscription.tsx';
import { useParams } from '../../routing.tsx';

export function SubscriptionPage() {
  const expand = [useExpand('customer'), 'consents'].filter(Boolean).join(',');
  const { id = '' } = useParams();
  const path = `/v1/subscriptions/${id}`;
  const query = useGet<Subscription>(path, { expand });
  return (
    <LoadWhole query={query} path={path}>
      {(subscription) => <Details subscription={subscription} />}
    </LoadWhole>
  );
}

const changeable: readonly Subscription['status'][] = ['active', 'paused'];
const ended: readonly Subscription['status'][] = ['canceled', 'completed'];

function Details({ subscription }: { subscription: Subscription }) {
  const { plan, customer, payment_method: card } = subscription;
  const canOrders = useCan('orders:read');
  const reason = useCan('subscriptions:write') ? undefined : common.notAllowed;
  const renewal = useGet<Renewal>(`/dashboard/subscriptions/${subscription.id}/renewal`).data;
  return (
    <Page
      title={customer ? subscriptions.titleOf(personName(customer), plan.name) : plan.name}
      badge={<Badge status={subscription.status} />}
      lead={subscriptionPrice(subscription)}
      back={{ to: '/subscriptions', label: subscriptions.title }}
      actions={<Actions subscription={subscription} renewal={renewal} />}
    >
      {subscription.latest_order_id !== null && <WaitingCharge orderId={subscription.latest_order_id} isRenewal />}
      {renewal && <DunningNotice renewal={renewal} />}
      {renewal && <EndingNotice subscription={subscription} renewal={renewal} reason={reason} />}
      <ScheduledNotice subscription={subscription} reason={reason} />
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          <Upcoming subscription={subscription} />
          <RenewalItems subscription={subscription} reason={reason} />
          {canOrders && <OrdersOf subscriptionId={subscription.id} />}
          <Timeline objectId={subscription.id} />
        </div>
        <div className="min-w-0">
          <Panel title={common.details}>
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={subscription.id} />],
                [common.customer, <CustomerLink key="customer" id={subscription.customer_id} customer={customer} />],
                [
                  subscriptions.plan,
                  <TextLink key="plan" to={`/plans/${subscription.plan_id}`}>
                    {plan.name}
                  </TextLink>,
                ],
                subscription.quantity > 1 && [planChanges.seats, planChanges.seatsOf(subscription.quantity)],
                [subscriptions.card, <CardName key="card" card={card} />],
                [subscriptions.cycles, cyclesText(subscription)],
                [subscriptions.nextBill, <DateTime key="next" at={subscription.next_billing_at} />],
                [
                  subscriptions.period,
                  <span key="period">
                    <DateTime at={subscription.current_period_start} day /> –{' '}
                    <DateTime at={subscription.current_period_end} day />
                  </span>,
                ],
                subscription.last_failure_message !== null && [
                  subscriptions.lastFailure,
                  subscription.last_failure_message,
                ],
                subscription.next_retry_at !== null && [
                  subscriptions.nextRetry,
                  <DateTime key="retry" at={subscription.next_retry_at} />,
                ],
                subscription.coupon !== null && [
                  subscriptions.coupon,
                  <TextLink key="coupon" to={`/coupons/${subscription.coupon.id}`}>
                    {subscription.coupon.code}
                  </TextLink>,
                ],
                subscription.description !== null && [common.description, subscription.description],
                subscription.shipping !== null && [
                  customers.shippingAddress,
                  <Address key="shipping" address={subscription.shipping} />,
                ],
                subscription.resumes_at !== null && [
                  subscriptions.resumesAt,
                  <DateTime key="resumes" at={subscription.resumes_at} />,
                ],
                subscription.canceled_at !== null && [
                  subscriptions.canceledAt,
                  <DateTime key="canceled" at={subscription.canceled_at} />,
                ],
                subscription.completed_at !== null && [
                  subscriptions.completedAt,
                  <DateTime key="completed" at={subscription.completed_at} />,
                ],
                [common.created, <DateTime key="created" at={subscription.created_at} />],
              ]}
            />
          </Panel>
          <Consents consents={subscription.consents} />
          <Metadata metadata={subscription.metadata} />
        </div>
      </div>
    </Page>
  );
}

interface ActionsProps {
  readonly subscription: Subscription;
  readonly renewal: Renewal | undefined;
}

function Actions({ subscription: { id, status }, subscription, renewal }: ActionsProps) {
  const [open, setOpen] = useState<'plan' | 'change' | 'card' | 'pause' | 'resume' | 'cancel'>();
  const reason = useCan('subscriptions:write') ? undefined : common.notAllowed;
  const cardReason = useCan('payment_methods:write') ? undefined : common.notAllowed;
  const close = () => setOpen(undefined);
  return (
    <>
      {changeable.includes(status) && (
        <Button reason={reason} onClick={() => setOpen('plan')}>
          {planChanges.button}
        </Button>
      )}
      {changeable.includes(status) && (
        <Button reason={reason} onClick={() => setOpen('change')}>
          {subscriptions.edit}
        </Button>
      )}
      {status === 'past_due' && (
        <Button kind="primary" reason={cardReason} onClick={() => setOpen('card')}>
          {subscriptions.changeCard}
        </Button>
      )}
      {status === 'active' && (
        <Button reason={reason} onClick={() => setOpen('pause')}>
          {subscriptions.pause}
        </Button>
      )}
      {status === 'paused' && (
        <Button kind="primary" reason={reason} onClick={() => setOpen('resume')}>
          {subscriptions.resume}
        </Button>
      )}
      {!ended.includes(status) && (
        <Button reason={reason} onClick={() => setOpen('cancel')}>
          {subscriptions.cancel}
        </Button>
      )}
      {open === 'plan' && <ChangePlan subscription={subscription} onClose={close} />}
      {open === 'change' && <ChangeSubscription subscription={subscription} onClose={close} />}
      {open === 'card' && <ChangeCard subscription={subscription} onClose={close} />}
      {open === 'pause' && (
        <Confirm
          title={subscriptions.pauseTitle}
          confirm={subscriptions.pauseConfirm}
          done={subscriptions.paused}
          send={(key) => call('POST', `/dashboard/subscriptions/${id}/pause`, { body: {}, key })}
          onClose={close}
        >
          {subscriptions.pauseText}
        </Confirm>
      )}
      {open === 'resume' && (
        <Confirm
          title={subscriptions.resumeTitle}
          confirm={subscriptions.resumeConfirm}
          done={subscriptions.resumed}
          send={(key) => call('POST', `/dashboard/subscriptions/${id}/resume`, { body: {}, key })}
          onClose={close}
        >
          {subscriptions.resumeText}
        </Confirm>
      )}
      {open === 'cancel' && renewal && (
        <CancelSubscription subscription={subscription} renewal={renewal} onClose={close} />
      )}
    </>
  );
}

function Upcoming({ subscription }: { subscription: Subscription }) {
  const bills = useGet<UpcomingBills>(`/v1/subscriptions/${subscription.id}/upcoming`, { count: 6 });
  return (
    <Panel title={subscriptions.upcoming}>
      {bills.data?.data.length === 0 || bills.error ? (
        <p className="py-2 text-muted">{bills.error?.message ?? subscriptions.noUpcoming}</p>
      ) : (
        <Table
          label={subscriptions.upcoming}
          rows={bills.data && joinFree(bills.data.data, ({ total }) => total)}
          keyOf={cyclesOf}
          columns={[
            { header: subscriptions.number, cell: cyclesOf },
            { header: common.date, cell: ({ first, last }) => <DaysOf first={first.date} last={last.date} /> },
            {
              header: subscriptions.discount,
              cell: ({ first }) => (first.discount_amount ? `−${money(first.discount_amount, first.currency)}` : '—'),
              end: true,
              wide: true,
            },
            { header: common.amount, cell: ({ first }) => amountOrFree(first.total, first.currency), end: true },
          ]}
        />
      )}
    </Panel>
  );
}

function OrdersOf({ subscriptionId }: { subscriptionId: string }) {
  const list = useList<Order>('/v1/orders', { subscription_id: subscriptionId, limit: 20 });
  return (
    <Panel title={subscriptions.orders}>
      <Table
        label={subscriptions.orders}
        rows={list.data?.data}
        keyOf={({ id }) => id}
        link={({ id }) => `/orders/${id}`}
        columns={[
          { header: common.amount, cell: ({ total, currency }) => money(total, currency), sum: true },
          { header: common.status, cell: ({ status }) => <Badge status={status} /> },
          {
            header: subscriptions.number,
            cell: ({ subscription_cycle, subscription_change }) =>
              subscription_cycle ?? (typeof subscription_change === 'number' ? planChanges.ofOrder : orders.number),
          },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true },
        ]}
      />
    </Panel>
  );
}

function cyclesText({ status, end_date, completed_cycles, billing_cycles }: Subscription): string {
  const isOpen = status === 'active' || status === 'paused' || status === 'past_due';
  if (isOpen && end_date === null && billing_cycles === 0) return subscriptions.cyclesForever(completed_cycles);
  return subscriptions.cyclesOf(completed_cycles, billing_cycles);
}
