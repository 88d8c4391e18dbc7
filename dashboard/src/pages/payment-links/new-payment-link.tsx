import { call } from '../../api.ts';
import { CheckField, FieldRow, NumberField, SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { checkLines, emptyLine, itemsOf, type Line, ProductLines } from '../../components/product-lines.tsx';
import { toast } from '../../components/toasts.tsx';
import { priceText } from '../../format.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink, Plan } from '../../types.ts';
import { navigate } from '../../routing.tsx';

const initial = {
  name: '',
  mode: 'payment' as 'payment' | 'subscription',
  lines: [emptyLine(0)] as readonly Line[],
  plan: undefined as Plan | undefined,
  adjustable: false,
  allow_coupons: false,
  shipping: false,
  company: false,
  max_payments: '',
  ends_at: '',
  success_url: '',
};
type Draft = typeof initial;

const adjustableMax = 99;

function soldBy({ mode, lines, plan, adjustable }: Draft): object {
  if (mode === 'subscription') return { mode, plan_id: plan?.id };
  const items = itemsOf(lines).map((item) =>
    adjustable ? { ...item, quantity_min: 1, quantity_max: Math.max(item.quantity, adjustableMax) } : item,
  );
  return { mode, items };
}

function bodyOf(draft: Draft): object {
  const { name, allow_coupons, shipping, company, max_payments, ends_at, success_url } = draft;
  return {
    name,
    ...soldBy(draft),
    allow_coupons,
    collect: [...(shipping ? ['shipping'] : []), ...(company ? ['company'] : [])],
    ...(max_payments ? { max_payments: Number(max_payments) } : {}),
    ...(ends_at ? { ends_at: `${ends_at}T23:59:59.999Z` } : {}),
    ...(success_url.trim() ? { success_url: success_url.trim() } : {}),
  };
}

function check({ mode, lines, plan }: Draft): Record<string, string | undefined> {
  if (mode === 'payment') return checkLines(lines, 'items');
  return { plan_id: plan ? undefined : paymentLinks.choosePlan };
}

export function NewPaymentLinkPage() {
  const form = useForm({
    initial,
    check,
    send: (draft, key) => call<PaymentLink>('POST', '/v1/payment_links', { body: bodyOf(draft), key }),
    onDone: ({ id }) => {
      toast(paymentLinks.added);
      void navigate({ to: `/payment-links/${id}` });
    },
  });
  const { mode, lines, plan } = form.draft;
  return (
    <Page title={paymentLinks.add} back={{ to: '/payment-links', label: paymentLinks.title }}>
      <div className="max-w-2xl">
        <Panel>
          <Form form={form} submit={paymentLinks.add} onCancel={() => void navigate({ to: '/payment-links' })}>
            <TextField form={form} name="name" label={paymentLinks.name} hint={paymentLinks.nameHint} autoFocus />
            <SelectField
              form={form}
              name="mode"
              label={paymentLinks.mode}
              choices={Object.entries(paymentLinks.modes).map(([value, label]) => ({ value, label }))}
            />
            {mode === 'payment' ? (
              <>
                <ProductLines
                  lines={lines}
                  onChange={(next) => form.set('lines', next)}
                  path="items"
                  errorOf={form.errorOf}
                  least={1}
                />
                <CheckField
                  form={form}
                  name="adjustable"
                  label={paymentLinks.adjustable}
                  hint={paymentLinks.adjustableHint}
                />
              </>
            ) : (
              <Picker<Plan>
                label={paymentLinks.plan}
                path="/v1/plans"
                query={{ active: true }}
                searchBy="search"
                textOf={({ name }) => name}
                detailOf={(item) => priceText(item, item.billing_cycle)}
                value={plan}
                error={form.errorOf('plan_id')}
                onChange={(next) => form.set('plan', next)}
              />
            )}
            <CheckField form={form} name="allow_coupons" label={paymentLinks.coupons} />
            <CheckField form={form} name="shipping" label={paymentLinks.shipping} />
            <CheckField form={form} name="company" label={paymentLinks.company} />
            <FieldRow>
              <NumberField form={form} name="max_payments" label={paymentLinks.max} hint={paymentLinks.maxHint} />
              <TextField
                form={form}
                name="ends_at"
                type="date"
                label={paymentLinks.ends}
                hint={paymentLinks.endsHint}
              />
            </FieldRow>
            <TextField
              form={form}
              name="success_url"
              type="url"
              label={paymentLinks.successUrl}
              hint={paymentLinks.successHint}
              placeholder="https://shop.example.com/thanks"
            />
          </Form>
        </Panel>
      </div>
    </Page>
  );
}
