import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api.ts';
import { AreaField, FieldRow, MoneyField, SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { IconButton } from '../../components/button.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { toast } from '../../components/toasts.tsx';
import { centsOf, money } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import { plans } from '../../texts/plans.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Plan, Product } from '../../types.ts';
import { Preview } from './preview.tsx';

interface Draft {
  name: string;
  plan_code: string;
  description: string;
  amount: string;
  one_time_amount: string;
  currency: string;
  interval: string;
  interval_count: string;
  anchor_day: string;
  billing_cycles: string;
  products: readonly Product[];
}

const initial: Draft = {
  name: '',
  plan_code: '',
  description: '',
  amount: '',
  one_time_amount: '',
  currency: 'usd',
  interval: 'month',
  interval_count: '1',
  anchor_day: '',
  billing_cycles: '',
  products: [],
};

function termsOf(draft: Draft) {
  const fee = centsOf(draft.one_time_amount);
  return {
    amount: centsOf(draft.amount) ?? 0,
    ...(fee ? { one_time_amount: fee } : {}),
    billing_cycle: {
      interval: draft.interval,
      interval_count: Number(draft.interval_count) || 1,
      anchor_day: draft.anchor_day && draft.interval === 'month' ? Number(draft.anchor_day) : ('signup_date' as const),
    },
    ...(draft.billing_cycles ? { billing_cycles: Number(draft.billing_cycles) } : {}),
  };
}

export function NewPlanPage() {
  const navigate = useNavigate();
  const form = useForm({
    initial,
    check: ({ amount, one_time_amount }) => ({
      amount: centsOf(amount) === undefined ? common.invalidAmount : undefined,
      one_time_amount: one_time_amount && centsOf(one_time_amount) === undefined ? common.invalidAmount : undefined,
    }),
    send: (draft, key) => {
      const body = {
        name: draft.name,
        ...(draft.plan_code ? { plan_code: draft.plan_code.trim() } : {}),
        description: draft.description || null,
        currency: draft.currency.trim().toLowerCase(),
        ...termsOf(draft),
        ...(draft.products.length > 0 ? { products: draft.products.map(({ id }) => ({ product_id: id })) } : {}),
      };
      return call<Plan>('POST', '/dashboard/plans', { body, key });
    },
    onDone: ({ id }) => {
      toast(plans.added);
      void navigate({ to: `/plans/${id}` });
    },
  });
  const { draft } = form;
  return (
    <Page title={plans.add} back={{ to: '/plans', label: plans.title }}>
      <div className="grid items-start gap-x-5 lg:grid-cols-[3fr_2fr]">
        <Panel>
          <Form form={form} submit={plans.add} onCancel={() => void navigate({ to: '/plans' })}>
            <FieldRow>
              <TextField form={form} name="name" label={common.name} autoFocus />
              <TextField form={form} name="plan_code" label={plans.code} hint={plans.codeHint} />
            </FieldRow>
            <FieldRow>
              <MoneyField form={form} name="amount" label={plans.amount} currency={draft.currency} />
              <TextField form={form} name="currency" label={common.currency} maxLength={3} />
            </FieldRow>
            <FieldRow>
              <TextField
                form={form}
                name="interval_count"
                path="billing_cycle.interval_count"
                label={plans.every}
                type="number"
                min={1}
              />
              <SelectField
                form={form}
                name="interval"
                path="billing_cycle.interval"
                label={plans.interval}
                choices={Object.entries(subscriptions.intervals).map(([value, label]) => ({ value, label }))}
              />
            </FieldRow>
            {draft.interval === 'month' && (
              <TextField
                form={form}
                name="anchor_day"
                path="billing_cycle.anchor_day"
                label={plans.anchor}
                hint={plans.anchorHint}
                type="number"
                min={1}
                max={31}
              />
            )}
            <FieldRow>
              <TextField
                form={form}
                name="billing_cycles"
                label={plans.cycles}
                hint={plans.cyclesHint}
                type="number"
                min={1}
              />
              <MoneyField
                form={form}
                name="one_time_amount"
                label={plans.oneTime}
                hint={plans.oneTimeHint}
                currency={draft.currency}
              />
            </FieldRow>
            <AreaField form={form} name="description" label={common.description} hint={common.optional} />
            <Picker<Product>
              label={plans.products}
              hint={common.optional}
              path="/v1/products"
              query={{ active: true }}
              textOf={({ name }) => name}
              detailOf={({ pricing }) => money(pricing.amount, pricing.currency)}
              value={undefined}
              onChange={(product) => {
                if (product && !draft.products.some(({ id }) => id === product.id))
                  form.set('products', [...draft.products, product]);
              }}
            />
            {draft.products.length > 0 && (
              <ul className="flex flex-col gap-1">
                {draft.products.map((product) => (
                  <li key={product.id} className="flex items-center justify-between rounded-[8px] bg-sunken pl-3">
                    {product.name}
                    <IconButton
                      label={orders.removeItem}
                      icon="close"
                      onClick={() =>
                        form.set(
                          'products',
                          draft.products.filter(({ id }) => id !== product.id),
                        )
                      }
                    />
                  </li>
                ))}
              </ul>
            )}
          </Form>
        </Panel>
        <Preview input={termsOf(draft)} currency={draft.currency} />
      </div>
    </Page>
  );
}
