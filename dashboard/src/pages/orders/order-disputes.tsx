import { Badge } from '../../components/badge.tsx';
import { Deadline } from '../../components/deadline.tsx';
import { Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useList } from '../../data.ts';
import { money } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { disputes as texts } from '../../texts/disputes.ts';
import type { Dispute, Order } from '../../types.ts';

/** An inquiry and a second chargeback leave no trace in the status of the order, so every order is asked about. */
export function useDisputesOf({ id }: Order): readonly Dispute[] | undefined {
  return useList<Dispute>('/dashboard/disputes', { order_id: id }).data?.data;
}

export function OrderDisputes({ disputes = [] }: { disputes: readonly Dispute[] | undefined }) {
  if (disputes.length === 0) return null;
  return (
    <Panel title={texts.title}>
      <Table
        label={texts.title}
        rows={disputes}
        keyOf={({ id }) => id}
        link={({ id }) => `/disputes/${id}`}
        columns={[
          { header: common.amount, cell: ({ amount, currency }) => money(amount, currency), sum: true },
          { header: common.status, cell: ({ status }) => <Badge status={status} /> },
          { header: texts.deadline, cell: (dispute) => <Deadline dispute={dispute} /> },
          { header: texts.reason, cell: ({ reason }) => texts.reasons[reason][0], wide: true },
        ]}
      />
    </Panel>
  );
}
