import { useState } from 'react';
import { Field, FieldRow, Select } from '../../components/fields.tsx';
import { Facts, Load, Panel } from '../../components/page.tsx';
import { useGet, useList } from '../../data.ts';
import { money } from '../../format.ts';
import { branding } from '../../texts/branding.ts';
import { emails } from '../../texts/emails.ts';
import type { EmailPreview, Order } from '../../types.ts';

const kinds = Object.entries(branding.kinds).map(([value, label]) => ({ value, label }));
const shownOrders = 20;

/** Shows an email with a real order. The frame can run nothing. */
export function Preview() {
  const [kind, setKind] = useState('order_receipt');
  const [chosen, setChosen] = useState<string>();
  const orders = useList<Order>('/v1/orders', { limit: shownOrders });
  const orderId = chosen ?? orders.data?.data[0]?.id;
  return (
    <Panel title={emails.preview}>
      <p className="mb-3 text-muted">{orderId === undefined ? emails.noOrder : emails.previewHint}</p>
      {orderId !== undefined && (
        <>
          <FieldRow>
            <Field label={emails.kind}>
              {(attributes) => (
                <Select
                  {...attributes}
                  choices={kinds}
                  value={kind}
                  onChange={(event) => setKind(event.target.value)}
                />
              )}
            </Field>
            <Field label={emails.order}>
              {(attributes) => (
                <Select
                  {...attributes}
                  choices={(orders.data?.data ?? []).map(({ id, order_number, total, currency }) => ({
                    value: id,
                    label: `${order_number}, ${money(total, currency)}`,
                  }))}
                  value={orderId}
                  onChange={(event) => setChosen(event.target.value)}
                />
              )}
            </Field>
          </FieldRow>
          <Shown kind={kind} orderId={orderId} />
        </>
      )}
    </Panel>
  );
}

function Shown({ kind, orderId }: { readonly kind: string; readonly orderId: string }) {
  const query = useGet<EmailPreview>(`/dashboard/customer_emails/preview/${orderId}`, { kind }, { keep: true });
  return (
    <Load query={query} lines={4}>
      {({ subject, from_name, reply_to, url }) => (
        <div className="mt-4 flex flex-col gap-4">
          <Facts
            facts={[
              [emails.subject, subject],
              [emails.from, from_name],
              reply_to !== null && [emails.replyTo, reply_to],
            ]}
          />
          <iframe
            key={url}
            src={url}
            sandbox=""
            title={emails.frame}
            className="h-160 w-full rounded-[8px] border border-line bg-white"
          />
        </div>
      )}
    </Load>
  );
}
