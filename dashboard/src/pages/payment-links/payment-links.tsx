import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { SelectFilter } from '../../components/filters.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/table.tsx';
import { useFilters } from '../../data.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';

const example = {
  name: 'Newsletter',
  mode: 'payment',
  items: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 1 }],
};

export function PaymentLinksPage() {
  const [{ active }] = useFilters();
  const button = useCan('payment_links:write') && (
    <LinkButton to="/payment-links/new" kind="primary" icon="plus">
      {paymentLinks.add}
    </LinkButton>
  );
  return (
    <Page title={paymentLinks.title} lead={paymentLinks.lead} actions={button}>
      <ResourceTable<PaymentLink>
        path="/v1/payment_links"
        query={{ active }}
        filtered={Boolean(active)}
        label={paymentLinks.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/payment-links/${id}`}
        filters={
          <SelectFilter
            name="active"
            label={paymentLinks.which}
            choices={[
              { value: '', label: common.all },
              { value: 'true', label: paymentLinks.active },
              { value: 'false', label: paymentLinks.inactive },
            ]}
          />
        }
        columns={[
          { header: paymentLinks.name, cell: ({ name }) => name, wraps: true },
          { header: paymentLinks.mode, cell: ({ mode }) => paymentLinks.modesShort[mode], wide: true },
          {
            header: paymentLinks.payments,
            cell: ({ payments, max_payments }) => paymentLinks.of(payments, max_payments),
            end: true,
          },
          { header: common.status, cell: (link) => <Badge status={link.active ? 'active' : 'inactive'} /> },
          { header: common.created, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
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
