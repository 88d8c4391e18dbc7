import { amountText } from '../../amounts.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { SelectFilter } from '../../components/filters.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { OnPhone, ResourceTable } from '../../components/table.tsx';
import { useFilters } from '../../data.ts';
import { cycleText, money, words } from '../../format.ts';
import { useCan, useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Subscription } from '../../types.ts';

const statuses: readonly Subscription['status'][] = ['active', 'past_due', 'paused', 'failed', 'canceled', 'completed'];

export function SubscriptionsPage() {
  const expand = useExpand('customer');
  const [{ status, plan_id }, change] = useFilters();
  const canPlan = useCan('plans:write');
  const button = useCan('subscriptions:write') && (
    <LinkButton to="/subscriptions/new" kind="primary" icon="plus">
      {subscriptions.add}
    </LinkButton>
  );
  return (
    <Page title={subscriptions.title} lead={subscriptions.lead} actions={button}>
      <ResourceTable<Subscription>
        path="/v1/subscriptions"
        query={{ status, plan_id, expand }}
        filtered={Boolean(status ?? plan_id)}
        label={subscriptions.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/subscriptions/${id}`}
        filters={
          <>
            <SelectFilter
              name="status"
              label={common.status}
              choices={[{ value: '', label: common.all }, ...statuses.map((value) => ({ value, label: words(value) }))]}
            />
            {plan_id && (
              <Button
                icon="close"
                onClick={() => change({ plan_id: undefined, starting_after: undefined, ending_before: undefined })}
              >
                {subscriptions.ofOnePlan}
              </Button>
            )}
          </>
        }
        csv={{
          name: 'subscriptions',
          columns: [
            { header: 'id', value: ({ id }) => id },
            { header: 'status', value: (subscription) => subscription.status },
            { header: 'customer_id', value: ({ customer_id }) => customer_id },
            { header: 'customer_email', value: ({ customer }) => customer?.email },
            { header: 'plan', value: ({ plan }) => plan.name },
            { header: 'amount', value: ({ plan }) => amountText(plan.amount, plan.currency) },
            { header: 'currency', value: ({ plan }) => plan.currency },
            { header: 'next_billing_at', value: ({ next_billing_at }) => next_billing_at },
            { header: 'created_at', value: ({ created_at }) => created_at },
          ],
        }}
        columns={[
          {
            header: subscriptions.plan,
            wraps: true,
            cell: ({ plan, customer }) => (
              <>
                {plan.name}
                <OnPhone>{customer?.email}</OnPhone>
              </>
            ),
          },
          { header: common.customer, cell: ({ customer }) => customer?.email ?? '—', wide: true, wraps: true },
          { header: common.status, cell: (subscription) => <Badge status={subscription.status} /> },
          {
            header: common.amount,
            cell: ({ plan, billing_cycle }) => `${money(plan.amount, plan.currency)} ${cycleText(billing_cycle)}`,
            wide: true,
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
