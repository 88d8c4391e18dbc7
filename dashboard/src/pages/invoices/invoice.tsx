import { lazy, Suspense, useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { useAction } from '../../components/form.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useParams } from '../../routing.tsx';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import type { Invoice, InvoicePdf, InvoiceXml } from '../../types.ts';

const CorrectInvoice = lazy(async () => ({ default: (await import('./correct-invoice.tsx')).CorrectInvoice }));

export function InvoicePage() {
  const { id = '' } = useParams();
  const path = `/v1/invoices/${id}`;
  const query = useGet<Invoice>(path);
  return (
    <LoadWhole query={query} path={path}>
      {(invoice) => <Details invoice={invoice} />}
    </LoadWhole>
  );
}

function Details({ invoice }: { invoice: Invoice }) {
  const { currency, kind, cause, seller, buyer } = invoice;
  const canReadOrders = useCan('orders:read');
  const canWrite = useCan('invoices:write');
  const [correcting, setCorrecting] = useState(false);
  const isOfPayment = cause === 'payment_recorded' || cause === 'invoice_corrected';
  const opener = (format: 'pdf' | 'xml') => ({
    send: (id: string) => call<InvoicePdf | InvoiceXml>('GET', `/v1/invoices/${id}/${format}`),
    onDone: ({ url }: InvoicePdf | InvoiceXml) => void window.open(url, '_blank', 'noopener'),
    tells: true,
  });
  const pdf = useAction(opener('pdf'));
  const xml = useAction(opener('xml'));
  const missing = invoice.e_invoice_missing;
  const sums: readonly (readonly [label: string, amount: number])[] = [
    [invoices.subtotal, invoice.subtotal],
    ...(invoice.discount_amount > 0 ? ([[invoices.discount, -invoice.discount_amount]] as const) : []),
    ...(invoice.uncaptured_amount > 0 ? ([[invoices.uncaptured, -invoice.uncaptured_amount]] as const) : []),
    [invoices.total, invoice.amount],
    ...(invoice.credit_applied > 0 ? ([[invoices.credit, invoice.credit_applied]] as const) : []),
  ];
  return (
    <Page
      title={invoice.number}
      badge={<Badge status={kind} label={invoices.kinds[kind]} />}
      lead={money(invoice.amount, currency)}
      back={{ to: '/invoices', label: invoices.title }}
      actions={
        <>
          {missing?.length === 0 && (
            <Button icon="download" busy={xml.busy} onClick={() => void xml.run(invoice.id)}>
              {invoices.xml}
            </Button>
          )}
          {canWrite && isOfPayment && buyer && <Button onClick={() => setCorrecting(true)}>{invoices.correct}</Button>}
          <Button icon="download" busy={pdf.busy} onClick={() => void pdf.run(invoice.id)}>
            {invoices.pdf}
          </Button>
        </>
      }
    >
      {correcting && buyer && (
        <Suspense>
          <CorrectInvoice invoice={invoice} buyer={buyer} onClose={() => setCorrecting(false)} />
        </Suspense>
      )}
      <Panel title={common.details}>
        <Facts
          facts={[
            [common.id, <CopyId key="id" id={invoice.id} />],
            [invoices.cause, invoices.causes[cause]],
            [invoices.issued, invoice.issued_on],
            [
              invoices.order,
              canReadOrders ? (
                <TextLink key="order" to={`/orders/${invoice.order_id}`}>
                  {invoice.order_number}
                </TextLink>
              ) : (
                invoice.order_number
              ),
            ],
            invoice.corrects_id !== null && [invoices.corrects, <Corrected key="corrects" id={invoice.corrects_id} />],
            invoice.reason !== null && [invoices.reason, invoice.reason],
            [invoices.seller, [seller.name, seller.tax_id].filter(Boolean).join(' · ')],
            buyer !== null && [
              invoices.buyer,
              [buyer.company, buyer.name, buyer.tax_id, buyer.email].filter(Boolean).join(' · '),
            ],
            missing !== null && [
              invoices.eInvoice,
              missing.length === 0 ? invoices.eInvoiceReady : invoices.eInvoiceMissing(missing),
            ],
          ]}
        />
      </Panel>
      <Panel title={invoices.lines}>
        <Table
          label={invoices.lines}
          rows={invoice.lines.map((line, index) => ({ ...line, index }))}
          keyOf={({ index }) => String(index)}
          columns={[
            { header: invoices.description, cell: ({ description }) => description, fills: true },
            { header: invoices.quantity, cell: ({ quantity }) => quantity ?? '', end: true },
            {
              header: invoices.unitPrice,
              cell: ({ unit_price }) => (unit_price === null ? '' : money(unit_price, currency)),
              end: true,
              wide: true,
            },
            {
              header: common.amount,
              cell: ({ amount }) => (amount === null ? '' : money(amount, currency)),
              end: true,
            },
          ]}
        />
        <Facts facts={sums.map(([label, amount]) => [label, money(amount, currency)])} />
      </Panel>
      {invoice.taxes && (
        <Panel title={invoices.taxes}>
          <Table
            label={invoices.taxes}
            rows={invoice.taxes}
            keyOf={({ name, percentage }) => `${name} ${percentage}`}
            columns={[
              { header: invoices.rate, cell: ({ name, percentage }) => `${name} ${percentage}%`, fills: true },
              { header: invoices.net, cell: ({ net_amount }) => money(net_amount, currency), end: true },
              { header: invoices.tax, cell: ({ tax_amount }) => money(tax_amount, currency), end: true },
              { header: invoices.gross, cell: ({ gross_amount }) => money(gross_amount, currency), end: true },
            ]}
          />
        </Panel>
      )}
    </Page>
  );
}

/** The number of the document, once it is loaded. */
function Corrected({ id }: { id: string }) {
  const { data } = useGet<Invoice>(`/v1/invoices/${id}`);
  return <TextLink to={`/invoices/${id}`}>{data?.number ?? common.loading}</TextLink>;
}
