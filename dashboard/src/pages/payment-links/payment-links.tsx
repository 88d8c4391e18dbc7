import { changeField } from '../../api.ts';
import { BulkChange } from '../../components/bulk-change.tsx';
import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import type { Filter } from '../../list-filters.ts';
import { lists } from '../../texts/lists.ts';
import { useCan } from '../../session.ts';
import { bulk } from '../../texts/bulk.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';

const example = {
  name: 'Newsletter',
  mode: 'payment',
  items: [{ product: { name: 'Tea tasting', pricing: { amount: 2500, currency: 'usd' } }, quantity: 1 }],
};

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'active',
    label: common.status,
    choices: [
      { value: 'true', label: paymentLinks.active },
      { value: 'false', label: paymentLinks.inactive },
    ],
  },
  {
    kind: 'choices',
    single: true,
    name: 'mode',
    label: paymentLinks.mode,
    choices: Object.entries(paymentLinks.modesShort).map(([value, label]) => ({ value, label })),
  },
];

export function PaymentLinksPage() {
  const button = useCan('payment_links:write') && (
    <LinkButton to="/payment-links/new" kind="primary" icon="plus">
      {paymentLinks.add}
    </LinkButton>
  );
  return (
    <Page title={paymentLinks.title} lead={paymentLinks.lead} actions={button}>
      <ResourceTable<PaymentLink>
        path="/v1/payment_links"
        label={paymentLinks.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/payment-links/${id}`}
        search={{ placeholder: lists.searchLinks }}
        filters={filters}
        bulk={(selected, done) => (
          <BulkChange
            rows={selected.filter(({ active }) => active)}
            label={bulk.deactivate}
            title={bulk.deactivateTitle}
            nameOf={({ name }) => name}
            reason={button ? undefined : common.notAllowed}
            send={({ id }) => changeField(`/v1/payment_links/${id}`, 'active', false)}
            onDone={done}
          />
        )}
        columns={[
          { header: paymentLinks.name, cell: ({ name }) => name, wraps: true },
          {
            header: paymentLinks.mode,
            cell: ({ mode }) => (mode === 'setup' ? '' : paymentLinks.modesShort[mode]),
            wide: true,
          },
          {
            header: paymentLinks.payments,
            cell: ({ payments, max_payments }) => paymentLinks.of(payments, max_payments),
            end: true,
          },
          { header: common.status, cell: (link) => <Badge status={link.active ? 'active' : 'inactive'} /> },
          {
            header: common.created,
            sort: 'created_at',
            cell: ({ created_at }) => <DateTime at={created_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={paymentLinks.emptyTitle} actions={button}>
            <p>{paymentLinks.empty}</p>
            <Curl path="/v1/payment_links" body={example} />
          </Empty>
        }
      />
    </Page>
  );
}
