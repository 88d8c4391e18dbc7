import { call } from '../../api.ts';
import { CheckoutPreview } from '../../components/checkout-preview.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useCan } from '../../session.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';
import { navigate } from '../../routing.tsx';
import { bodyOf, check, initialDraft, type LinkDraft, previewOf } from './link-draft.ts';
import { LinkFields } from './link-fields.tsx';

export function NewPaymentLinkPage() {
  const canCreate = useCan('products:write');
  const initial: LinkDraft = canCreate ? initialDraft : { ...initialDraft, sells: 'products' };
  const form = useForm({
    initial,
    check,
    send: (draft, key) => call<PaymentLink>('POST', '/v1/payment_links', { body: bodyOf(draft), key }),
    onDone: ({ id }) => {
      toast(paymentLinks.added);
      void navigate({ to: `/payment-links/${id}` });
    },
  });
  return (
    <Page title={paymentLinks.add} back={{ to: '/payment-links', label: paymentLinks.title }}>
      <div className="grid items-start gap-x-10 lg:grid-cols-2">
        <Panel>
          <Form form={form} submit={paymentLinks.add} onCancel={() => void navigate({ to: '/payment-links' })}>
            <LinkFields form={form} />
          </Form>
        </Panel>
        <div className="min-w-0 lg:sticky lg:top-20">
          <CheckoutPreview draft={previewOf(form.draft)} locale={form.draft.locale} />
        </div>
      </div>
    </Page>
  );
}
