import { amountText } from '../../amounts.ts';
import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Deadline } from '../../components/deadline.tsx';
import { DayFilters, daysOf, SelectFilter } from '../../components/filters.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { OnPhone, ResourceTable } from '../../components/table.tsx';
import { lookEveryMs, useFilters } from '../../data.ts';
import { money, words } from '../../format.ts';
import { useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import { orders } from '../../texts/orders.ts';
import type { Dispute } from '../../types.ts';

export function DisputesPage() {
  const { company } = useSignedIn();
  const [filters] = useFilters();
  const { status, from, to } = filters;
  const isSandbox = company.mode === 'sandbox';
  return (
    <Page title={disputes.title} lead={disputes.lead}>
      <ResourceTable<Dispute>
        path="/dashboard/disputes"
        query={{ status, ...daysOf(filters) }}
        filtered={Boolean(status ?? from ?? to)}
        label={disputes.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/disputes/${id}`}
        everyMs={lookEveryMs}
        filters={
          <>
            <SelectFilter
              name="status"
              label={common.status}
              choices={[
                { value: '', label: common.all },
                ...Object.keys(disputes.meanings).map((value) => ({ value, label: words(value) })),
              ]}
            />
            <DayFilters />
          </>
        }
        csv={{
          name: 'disputes',
          columns: [
            { header: 'id', value: ({ id }) => id },
            { header: 'status', value: (row) => row.status },
            { header: 'amount', value: ({ amount, currency }) => amountText(amount, currency) },
            { header: 'currency', value: ({ currency }) => currency },
            { header: 'reason', value: ({ reason }) => reason },
            { header: 'network_reason_code', value: (row) => row.network_reason_code },
            { header: 'order_id', value: ({ order_id }) => order_id },
            { header: 'order_number', value: ({ order_number }) => order_number },
            { header: 'processor', value: ({ processor }) => processor },
            { header: 'evidence_due_at', value: (row) => row.evidence_due_at },
            { header: 'submitted_at', value: ({ submitted_at }) => submitted_at },
            { header: 'created_at', value: ({ created_at }) => created_at },
          ],
        }}
        columns={[
          {
            header: common.amount,
            cell: ({ amount, currency, order_number }) => (
              <>
                {money(amount, currency)}
                <OnPhone>{order_number}</OnPhone>
              </>
            ),
          },
          {
            header: common.status,
            cell: (row) => (
              <>
                <Badge status={row.status} />
                <OnPhone>{disputes.reasons[row.reason][0]}</OnPhone>
              </>
            ),
          },
          { header: disputes.deadline, cell: (row) => <Deadline dispute={row} /> },
          { header: disputes.reason, cell: ({ reason }) => disputes.reasons[reason][0], wide: true },
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
