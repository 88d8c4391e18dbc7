import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Failure, Page } from '../../components/page.tsx';
import { RestoredNotice } from '../../components/restored-notice.tsx';
import { Table } from '../../components/table.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { duration, money, words } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { transactions } from '../../texts/transactions.ts';
import type { InDoubt } from '../../types.ts';

export function InDoubtPage() {
  const query = useGet<{ data: readonly InDoubt[] }>('/dashboard/in_doubt', {}, { everyMs: lookEveryMs });
  return (
    <Page title={transactions.inDoubtTitle} lead={transactions.inDoubtLead}>
      <RestoredNotice />
      {query.error && !query.data ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : (
        <div>
          {query.data?.data.length === 0 ? (
            <Empty title={transactions.inDoubtEmpty}>{transactions.inDoubtEmptyText}</Empty>
          ) : (
            <Table
              label={transactions.inDoubtTitle}
              rows={query.data?.data}
              keyOf={({ transaction_id }) => transaction_id}
              link={({ order_id, transaction_id }) =>
                order_id ? `/orders/${order_id}` : `/transactions/${transaction_id}`
              }
              columns={[
                { header: common.amount, cell: ({ amount, currency }) => money(amount, currency), sum: true },
                { header: common.type, cell: ({ type }) => words(type) },
                { header: transactions.age, cell: ({ age_seconds }) => duration(age_seconds), end: true },
                { header: transactions.since, cell: ({ since }) => <DateTime at={since} real />, wide: true },
                { header: transactions.checks, cell: ({ checks }) => checks, end: true, wide: true },
                {
                  header: transactions.nextCheck,
                  cell: ({ next_check_at }) => <DateTime at={next_check_at} real />,
                  wide: true,
                },
              ]}
            />
          )}
        </div>
      )}
    </Page>
  );
}
