import { useRef, useState } from 'react';
import { changeField } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { languageName } from '../../components/language-field.tsx';
import QrCode from '../../components/qr-code.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { CheckoutSession, PaymentLink } from '../../types.ts';
import { Link, useParams } from '../../routing.tsx';
import { EditLink } from './edit-link.tsx';
import { useSold } from './link-items.tsx';
import { Visits } from './link-visits.tsx';
import { ShareLink } from './share-link.tsx';

export function PaymentLinkPage() {
  const { id = '' } = useParams();
  const path = `/v1/payment_links/${id}`;
  const query = useGet<PaymentLink>(path, {}, { everyMs: lookEveryMs });
  return (
    <LoadWhole query={query} path={path}>
      {(link) => <Details link={link} />}
    </LoadWhole>
  );
}

function Details({ link }: { link: PaymentLink }) {
  const [asks, setAsks] = useState(false);
  const [edits, setEdits] = useState(false);
  const { sold, total } = useSold(link);
  const reason = useCan('payment_links:write') ? undefined : common.notAllowed;
  const { active } = link;
  return (
    <Page
      title={link.name}
      badge={<Badge status={active ? 'active' : 'inactive'} />}
      back={{ to: '/payment-links', label: paymentLinks.title }}
      actions={
        <>
          <Button reason={reason} onClick={() => setEdits(true)}>
            {common.edit}
          </Button>
          <Button reason={reason} onClick={() => setAsks(true)}>
            {active ? paymentLinks.deactivate : paymentLinks.activate}
          </Button>
        </>
      }
    >
      <ShareLink link={link} />
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          <Visits link={link} />
          <Panel title={common.details}>
            <Facts
              facts={[
                [paymentLinks.total, total],
                [paymentLinks.sells, sold],
                [paymentLinks.payments, paymentLinks.of(link.payments, link.max_payments)],
                link.capture === 'manual' && [paymentLinks.capture, paymentLinks.captureManual],
                link.ends_at !== null && [paymentLinks.ends, <DateTime key="ends" at={link.ends_at} />],
                link.success_url !== null && [paymentLinks.successUrl, link.success_url],
                link.locale !== null && [paymentLinks.language, languageName(link.locale)],
                link.readable_url !== null && [paymentLinks.longLink, <CopyId key="url" id={link.url} whole />],
                [common.id, <CopyId key="id" id={link.id} />],
                [common.created, <DateTime key="created" at={link.created_at} />],
              ]}
            />
          </Panel>
          <Sessions link={link} />
        </div>
        <Qr link={link} />
      </div>
      {edits && <EditLink link={link} onClose={() => setEdits(false)} />}
      {asks && (
        <Confirm
          title={active ? paymentLinks.deactivate : paymentLinks.activate}
          confirm={active ? paymentLinks.deactivate : paymentLinks.activate}
          done={active ? paymentLinks.deactivated : paymentLinks.activated}
          send={(key) => changeField(`/v1/payment_links/${link.id}`, 'active', !active, key)}
          onClose={() => setAsks(false)}
        >
          {active ? paymentLinks.deactivateText : link.name}
        </Confirm>
      )}
    </Page>
  );
}

function Qr({ link }: { link: PaymentLink }) {
  const holder = useRef<HTMLDivElement>(null);
  const download = (): void => {
    const svg = holder.current?.querySelector('svg');
    if (!svg) return;
    const copy = svg.cloneNode(true) as SVGElement;
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.removeAttribute('class');
    const anchor = document.createElement('a');
    const url = URL.createObjectURL(new Blob([copy.outerHTML], { type: 'image/svg+xml' }));
    anchor.href = url;
    anchor.download = 'payment-link.svg';
    anchor.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Panel title={paymentLinks.qr}>
      <div ref={holder}>
        <QrCode text={link.url} label={paymentLinks.qrOf(link.name)} />
      </div>
      <p className="my-3 text-sm text-muted">{paymentLinks.qrText}</p>
      <Button icon="download" onClick={download}>
        {paymentLinks.downloadQr}
      </Button>
    </Panel>
  );
}

function Sessions({ link }: { link: PaymentLink }) {
  const canRead = useCan('checkout_sessions:read');
  if (!canRead) return null;
  return (
    <Panel title={paymentLinks.sessions}>
      <ResourceTable<CheckoutSession>
        path="/v1/checkout_sessions"
        query={{ payment_link_id: link.id }}
        everyMs={lookEveryMs}
        label={paymentLinks.sessions}
        keyOf={({ id }) => id}
        columns={[
          { header: paymentLinks.started, cell: ({ created_at }) => <DateTime at={created_at} /> },
          {
            header: common.status,
            cell: ({ status, capture }) => (
              <Badge
                status={status}
                label={
                  status === 'completed' && capture === 'manual' ? paymentLinks.ordered : paymentLinks.statuses[status]
                }
              />
            ),
          },
          {
            header: paymentLinks.order,
            end: true,
            cell: ({ order_id }) =>
              order_id === null ? (
                common.none
              ) : (
                <Link to={`/orders/${order_id}`} className="link">
                  {paymentLinks.seeOrder}
                </Link>
              ),
          },
        ]}
        empty={<p className="py-2 text-muted">{paymentLinks.noSessions}</p>}
      />
    </Panel>
  );
}
