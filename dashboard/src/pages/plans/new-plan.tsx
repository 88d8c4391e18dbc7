import { call } from '../../api.ts';
import { CurrencyField } from '../../components/choice-field.tsx';
import { type CycleDraft, CycleFields, cycleOf } from '../../components/billing-cycle.tsx';
import { AreaField, FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { checkLines, itemsOf, type Line, ProductLines } from '../../components/product-lines.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';
import type { Plan } from '../../types.ts';
import { Preview } from './preview.tsx';
import { checkPrice, isPriced, type PriceDraft, PriceFields, priceOf, tiersOf } from './tiers.tsx';
import { navigate } from '../../routing.tsx';

interface Draft extends PriceDraft, CycleDraft {
  plan_code: string;
  description: string;
  billing_cycles: string;
  products: readonly Line[];
}

const initial: Draft = {
  name: '',
  plan_code: '',
  description: '',
  amount: '',
  one_time_amount: '',
  currency: 'usd',
  tiers: [],
  interval: 'month',
  interval_count: '1',
  anchor_day: '',
  billing_cycles: '',
  products: [],
};

const termsOf = (draft: Draft) => ({
  ...priceOf(draft),
  billing_cycle: cycleOf(draft),
  ...(draft.billing_cycles ? { billing_cycles: Number(draft.billing_cycles) } : {}),
});

export function NewPlanPage() {
  const form = useForm({
    initial,
    check: (draft) => ({ ...checkPrice(draft), ...checkLines(draft.products, 'products') }),
    send: (draft, key) => {
      const body = {
        name: draft.name,
        ...(draft.plan_code ? { plan_code: draft.plan_code.trim() } : {}),
        description: draft.description || null,
        currency: draft.currency.trim().toLowerCase(),
        ...termsOf(draft),
        ...(draft.tiers.length > 0 ? { pricing_tiers: tiersOf(draft) } : {}),
        ...(draft.products.length > 0 ? { products: itemsOf(draft.products) } : {}),
      };
      return call<Plan>('POST', '/dashboard/plans', { body, key });
    },
    onDone: ({ id }) => {
      toast(plans.added);
      void navigate({ to: `/plans/${id}` });
    },
  });
  const { draft } = form;
  const wrongProducts = form.errorOf('products');
  return (
    <Page title={plans.add} back={{ to: '/plans', label: plans.title }}>
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <Panel>
          <Form form={form} submit={plans.add} onCancel={() => void navigate({ to: '/plans' })}>
            <TextField form={form} name="name" label={common.name} autoFocus />
            <FieldRow>
              <TextField form={form} name="plan_code" label={plans.code} placeholder={plans.codeHint} />
              <CurrencyField form={form} name="currency" />
            </FieldRow>
            <PriceFields form={form} />
            <CycleFields form={form} hint={plans.anchorHint} />
            <NumberField form={form} name="billing_cycles" label={plans.cycles} placeholder={plans.cyclesHint} />
            <AreaField form={form} name="description" label={common.description} placeholder={common.optional} />
            <fieldset className="flex flex-col gap-3">
              <legend className="text-sm font-medium">{plans.products}</legend>
              <p className="text-sm text-muted">{plans.productsHint}</p>
              <ProductLines
                lines={draft.products}
                onChange={(next) => form.set('products', next)}
                path="products"
                errorOf={form.errorOf}
              />
              {wrongProducts && <p className="text-sm text-bad">{wrongProducts}</p>}
            </fieldset>
          </Form>
        </Panel>
        <Preview input={isPriced(draft) ? termsOf(draft) : undefined} currency={draft.currency} />
      </div>
    </Page>
  );
}
