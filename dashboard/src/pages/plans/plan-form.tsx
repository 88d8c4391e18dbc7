import { call } from '../../api.ts';
import { CurrencyField } from '../../components/choice-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { type CycleDraft, CycleFields, cycleOf } from '../../components/billing-cycle.tsx';
import { AreaField, FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import { Form, type FormState, useForm } from '../../components/form.tsx';
import { checkLines, itemsOf, type Line, ProductLines } from '../../components/product-lines.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';
import type { Plan } from '../../types.ts';
import { checkPrice, type PriceDraft, PriceFields, priceOf, tiersOf } from './tiers.tsx';

/** The form of a new plan, on its page and in a dialog over another form. */

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

export const termsOf = (draft: Draft) => ({
  ...priceOf(draft),
  billing_cycle: cycleOf(draft),
  ...(draft.billing_cycles ? { billing_cycles: Number(draft.billing_cycles) } : {}),
});

export function usePlanForm(name: string, onDone: (plan: Plan) => void): FormState<Draft> {
  return useForm({
    initial: { ...initial, name },
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
    onDone: (plan) => {
      toast(plans.added);
      onDone(plan);
    },
  });
}

interface PlanFormProps {
  readonly form: FormState<Draft>;
  readonly onCancel: () => void;
}

export function PlanForm({ form, onCancel }: PlanFormProps) {
  const wrongProducts = form.errorOf('products');
  return (
    <Form form={form} submit={plans.add} onCancel={onCancel}>
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
          lines={form.draft.products}
          onChange={(next) => form.set('products', next)}
          path="products"
          errorOf={form.errorOf}
        />
        {wrongProducts && <p className="text-sm text-bad">{wrongProducts}</p>}
      </fieldset>
    </Form>
  );
}

interface PlanDialogProps {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: (plan: Plan) => void;
}

export function PlanDialog({ name, onClose, onDone }: PlanDialogProps) {
  const form = usePlanForm(name, (plan) => {
    onClose();
    onDone(plan);
  });
  return (
    <Dialog title={plans.add} onClose={onClose} wide>
      <PlanForm form={form} onCancel={onClose} />
    </Dialog>
  );
}
