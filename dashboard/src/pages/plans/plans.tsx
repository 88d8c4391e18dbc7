import { useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { currencyFilter, type Filter } from '../../list-filters.ts';
import { cycleText, money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { planGroups } from '../../texts/plan-groups.ts';
import { plans } from '../../texts/plans.ts';
import { PlanGroups } from './plan-groups.tsx';
import type { Plan } from '../../types.ts';

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'active',
    label: common.status,
    choices: [
      { value: 'true', label: plans.active },
      { value: 'false', label: plans.archived },
    ],
  },
  currencyFilter,
];

export function PlansPage() {
  const [showsGroups, setShowsGroups] = useState(false);
  const button = useCan('plans:write') && (
    <LinkButton to="/plans/new" kind="primary" icon="plus">
      {plans.add}
    </LinkButton>
  );
  return (
    <Page
      title={plans.title}
      lead={plans.lead}
      actions={
        <>
          <Button onClick={() => setShowsGroups(true)}>{planGroups.button}</Button>
          {button}
        </>
      }
    >
      {showsGroups && <PlanGroups onClose={() => setShowsGroups(false)} />}
      <ResourceTable<Plan>
        path="/v1/plans"
        label={plans.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/plans/${id}`}
        search={{ placeholder: plans.search, name: 'search' }}
        filters={filters}
        exports="plans"
        columns={[
          { header: common.name, sort: 'name', cell: ({ name }) => name, wraps: true },
          { header: common.amount, sort: 'amount', cell: ({ amount, currency }) => money(amount, currency), end: true },
          {
            header: plans.cycle,
            cell: ({ billing_cycle }) => (
              <span className="block first-letter:uppercase">{cycleText(billing_cycle)}</span>
            ),
          },
          {
            header: plans.code,
            cell: ({ plan_code }) => <span className="font-mono text-[13px]">{plan_code}</span>,
            wide: true,
          },
          { header: common.status, cell: (plan) => <Badge status={plan.active ? 'active' : 'archived'} />, wide: true },
          {
            header: common.created,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={plans.emptyTitle} actions={button}>
            {plans.empty}
          </Empty>
        }
      />
    </Page>
  );
}
