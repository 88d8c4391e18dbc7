import { lazy, Suspense, useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { money } from '../../format.ts';
import { datesFilter, type Filter } from '../../list-filters.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import type { Invoice } from '../../types.ts';

const DownloadMonth = lazy(async () => ({ default: (await import('./download-month.tsx')).DownloadMonth }));

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    name: 'kind',
    label: common.type,
    choices: Object.entries(invoices.kinds).map(([value, label]) => ({ value, label })),
  },
  datesFilter,
];

export function InvoicesPage() {
  const canSet = useCan('company:read');
  const [downloading, setDownloading] = useState(false);
  return (
    <Page
      title={invoices.title}
      lead={invoices.lead}
      actions={
        <>
          <Button icon="download" onClick={() => setDownloading(true)}>
            {invoices.download}
          </Button>
          {canSet && <LinkButton to="/settings/invoices">{invoices.openSettings}</LinkButton>}
        </>
      }
    >
      {downloading && (
        <Suspense>
          <DownloadMonth onClose={() => setDownloading(false)} />
        </Suspense>
      )}
      <ResourceTable<Invoice>
        path="/v1/invoices"
        label={invoices.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/invoices/${id}`}
        search={{ placeholder: invoices.search }}
        filters={filters}
        columns={[
          { header: invoices.number, cell: ({ number }) => number, fills: true },
          {
            header: common.amount,
            sum: true,
            cell: ({ kind, amount, currency }) => money(kind === 'invoice' ? amount : -amount, currency),
          },
          {
            header: common.type,
            cell: ({ kind }) => <Badge status={kind} label={invoices.kinds[kind]} />,
          },
          { header: invoices.buyer, cell: ({ buyer }) => buyer?.name ?? '—', wide: true },
          { header: invoices.order, cell: ({ order_number }) => order_number, wide: true },
          { header: invoices.issued, sort: 'created_at', cell: ({ issued_on }) => issued_on, end: true, wide: true },
        ]}
        empty={
          <Empty title={invoices.emptyTitle}>
            <p>{invoices.empty}</p>
          </Empty>
        }
      />
    </Page>
  );
}
