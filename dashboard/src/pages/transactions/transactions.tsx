import { CardName } from '../../components/card-mark.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { AmountCell, CustomerCell, StatusCell } from '../../components/payment-cells.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import {
  brandFilter,
  currencyFilter,
  datesFilter,
  failureFilter,
  type Filter,
  statusFilter,
} from '../../list-filters.ts';
import { useExpand } from '../../session.ts';
import { common, shell } from '../../texts/common.ts';
import { lists } from '../../texts/lists.ts';
import { transactions } from '../../texts/transactions.ts';
import type { Transaction } from '../../types.ts';

const statuses: readonly Transaction['status'][] = ['succeeded', 'failed', 'in_progress', 'voided', 'chargeback'];

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    name: 'type',
    label: common.type,
    choices: Object.entries(transactions.types).map(([value, label]) => ({ value, label })),
  },
  statusFilter(statuses),
  datesFilter,
  { kind: 'amount', name: 'amount', label: common.amount },
  currencyFilter,
  brandFilter,
  failureFilter,
];

export function TransactionsPage() {
  const expand = useExpand('customer');
  return (
    <Page
      title={transactions.title}
      lead={transactions.lead}
      actions={<LinkButton to="/in-doubt">{shell.places.inDoubt}</LinkButton>}
    >
      <ResourceTable<Transaction>
        path="/v1/transactions"
        query={{ expand }}
        label={transactions.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/transactions/${id}`}
        search={{ placeholder: lists.searchTransactions }}
        filters={filters}
        exports="transactions"
        columns={[
          {
            header: common.amount,
            sum: true,
            sort: 'amount',
            cell: ({ amount, currency, customer, type }) => (
              <AmountCell amount={amount} currency={currency} customer={customer} type={transactions.types[type]} />
            ),
          },
          { header: common.type, cell: (row) => transactions.types[row.type], wide: true },
          {
            header: common.status,
            cell: (row) => <StatusCell status={row.status} reason={row.failure_code} at={row.created_at} />,
          },
          {
            header: common.customer,
            cell: ({ customer }) => <CustomerCell customer={customer} />,
            wide: true,
            fills: true,
          },
          {
            header: common.card,
            cell: ({ payment_method: card }) => (card ? <CardName card={card} /> : '—'),
            wide: true,
          },
          {
            header: common.date,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={transactions.emptyTitle}>
            <p>{transactions.empty}</p>
            <Curl method="GET" path="/v1/transactions" />
          </Empty>
        }
      />
    </Page>
  );
}
