import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Deadline, needsResponse } from '../../components/deadline.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { AmountCell, CustomerCell } from '../../components/payment-cells.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { lookEveryMs } from '../../data.ts';
import { datesFilter, type Filter, statusFilter } from '../../list-filters.ts';
import { useExpand, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import { lists } from '../../texts/lists.ts';
import { orders } from '../../texts/orders.ts';
import type { Dispute } from '../../types.ts';
import { UnmatchedDisputes } from './unmatched.tsx';

const filters: readonly Filter[] = [
  statusFilter(Object.keys(disputes.meanings)),
  datesFilter,
  {
    kind: 'choices',
    name: 'reason',
    label: disputes.reason,
    choices: Object.entries(disputes.reasons).map(([value, [label]]) => ({ value, label })),
  },
];

export function DisputesPage() {
  const { company } = useSignedIn();
  const expand = useExpand('customer');
  const isSandbox = company.mode === 'sandbox';
  return (
    <Page title={disputes.title} lead={disputes.lead}>
      {!isSandbox && <UnmatchedDisputes />}
      <ResourceTable<Dispute>
        path="/dashboard/disputes"
        query={{ expand }}
        label={disputes.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/disputes/${id}`}
        everyMs={lookEveryMs}
        search={{ placeholder: lists.searchDisputes }}
        filters={filters}
        exports="disputes"
        columns={[
          {
            header: common.amount,
            sum: true,
            cell: ({ amount, currency, customer }) => (
              <AmountCell amount={amount} currency={currency} customer={customer} />
            ),
          },
          {
            header: common.status,
            cell: (row) => (
              <>
                <Badge status={row.status} />
                <span className="block text-sm text-muted md:hidden">
                  {needsResponse(row) ? <Deadline dispute={row} /> : disputes.reasons[row.reason][0]}
                </span>
              </>
            ),
          },
          { header: disputes.deadline, cell: (row) => <Deadline dispute={row} />, wide: true },
          { header: disputes.reason, cell: ({ reason }) => disputes.reasons[reason][0], wide: true },
          {
            header: common.customer,
            cell: ({ customer }) => <CustomerCell customer={customer} />,
            wide: true,
            fills: true,
          },
          {
            header: disputes.order,
            cell: ({ order_number }) => <span className="font-mono text-[13px]">{order_number}</span>,
            wide: true,
          },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
        empty={
          <Empty
            title={disputes.emptyTitle}
            actions={isSandbox && <LinkButton to="/orders">{orders.title}</LinkButton>}
          >
            <p>{disputes.empty}</p>
            {isSandbox && <p>{disputes.emptySandbox}</p>}
          </Empty>
        }
      />
    </Page>
  );
}
