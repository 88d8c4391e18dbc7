import { CardName } from '../../components/card-mark.tsx';
import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { CustomerCell } from '../../components/payment-cells.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { OnPhone } from '../../components/table.tsx';
import {
  brandFilter,
  cardExpiresFilter,
  currencyFilter,
  customerFilter,
  datesFilter,
  type Filter,
  planFilter,
  statusFilter,
} from '../../list-filters.ts';
import { MoveSelected } from '../plans/price-change.tsx';
import { personName, subscriptionPrice } from '../../format.ts';
import { useCan, useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';
import { lists } from '../../texts/lists.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Subscription } from '../../types.ts';

const statuses: readonly Subscription['status'][] = ['active', 'past_due', 'paused', 'failed', 'canceled', 'completed'];

const filters: readonly Filter[] = [
  statusFilter(statuses),
  planFilter,
  datesFilter,
  currencyFilter,
  brandFilter,
  cardExpiresFilter,
  customerFilter,
];

export function SubscriptionsPage() {
  const expand = useExpand('customer');
  const canPlan = useCan('plans:write');
  const canWrite = useCan('subscriptions:write');
  const button = canWrite && (
    <LinkButton to="/subscriptions/new" kind="primary" icon="plus">
      {subscriptions.add}
    </LinkButton>
  );
  return (
    <Page title={subscriptions.title} lead={subscriptions.lead} actions={button}>
      <ResourceTable<Subscription>
        path="/v1/subscriptions"
        query={{ expand }}
        label={subscriptions.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/subscriptions/${id}`}
        search={{ placeholder: lists.searchSubscriptions }}
        filters={filters}
        exports="subscriptions"
        bulk={(selected, done) => canWrite && <MoveSelected selected={selected} onDone={done} />}
        columns={[
          {
            header: subscriptions.plan,
            wraps: true,
            cell: ({ plan, customer }) => (
              <>
                <span className="block lg:min-w-48">{plan.name}</span>
                <OnPhone>{customer && personName(customer)}</OnPhone>
              </>
            ),
          },
          {
            header: common.customer,
            cell: ({ customer }) => <CustomerCell customer={customer} />,
            wide: true,
            fills: true,
          },
          {
            header: common.status,
            cell: (subscription) => (
              <>
                <Badge status={subscription.status} />
                <OnPhone>{subscriptionPrice(subscription)}</OnPhone>
              </>
            ),
          },
          {
            header: common.amount,
            sum: true,
            cell: (subscription) => <span className="lg:whitespace-nowrap">{subscriptionPrice(subscription)}</span>,
            wide: true,
          },
          {
            header: common.card,
            cell: ({ payment_method: card }) => <CardName card={card} />,
            wide: true,
            extra: true,
          },
          {
            header: common.created,
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
            extra: true,
          },
          {
            header: subscriptions.nextBill,
            cell: ({ next_billing_at }) => <DateTime at={next_billing_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty
            title={subscriptions.emptyTitle}
            actions={
              <>
                {button}
                {canPlan && <LinkButton to="/plans/new">{plans.add}</LinkButton>}
              </>
            }
          >
            <p>{subscriptions.empty}</p>
            <Curl path="/v1/subscriptions" body={{ customer_id: '…', plan_id: '…' }} />
          </Empty>
        }
      />
    </Page>
  );
}
