import { useState } from 'react';
import { CurrencyField } from '../../components/choice-field.tsx';
import { CheckField, FieldRow, MoneyField, NumberField, SelectField, TextField } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { LanguageField } from '../../components/language-field.tsx';
import { Picker } from '../../components/picker.tsx';
import { ProductLines } from '../../components/product-lines.tsx';
import { priceText } from '../../format.ts';
import { useCan } from '../../session.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { Plan } from '../../types.ts';
import { type LinkDraft, newProductPath } from './link-draft.ts';

interface FieldsProps {
  readonly form: FormState<LinkDraft>;
}

/** The fields of a new payment link: what it sells, and further down what few people need. */
export function LinkFields({ form }: FieldsProps) {
  const canCreate = useCan('products:write');
  const choices = Object.entries(paymentLinks.sold)
    .map(([value, label]) => ({ value, label }))
    .filter(({ value }) => value !== 'new' || canCreate);
  const Sold = { new: NewProduct, products: Products, plan: PlanSold }[form.draft.sells];
  return (
    <>
      <SelectField form={form} name="sells" label={paymentLinks.mode} choices={choices} />
      <Sold form={form} />
      <Options form={form} />
    </>
  );
}

function NewProduct({ form }: FieldsProps) {
  return (
    <>
      <TextField
        form={form}
        name="title"
        path={`${newProductPath}.name`}
        label={paymentLinks.what}
        placeholder={paymentLinks.whatExample}
        autoFocus
      />
      <FieldRow>
        <MoneyField
          form={form}
          name="amount"
          path={`${newProductPath}.pricing.amount`}
          label={paymentLinks.price}
          currency={form.draft.currency}
        />
        <CurrencyField form={form} name="currency" path={`${newProductPath}.pricing.currency`} />
      </FieldRow>
    </>
  );
}

function Products({ form }: FieldsProps) {
  return (
    <ProductLines
      lines={form.draft.lines}
      onChange={(next) => form.set('lines', next)}
      path="items"
      errorOf={form.errorOf}
      least={1}
    />
  );
}

function PlanSold({ form }: FieldsProps) {
  return (
    <Picker<Plan>
      label={paymentLinks.plan}
      path="/v1/plans"
      query={{ active: true }}
      searchBy="search"
      textOf={({ name }) => name}
      detailOf={(item) => priceText(item, item.billing_cycle)}
      value={form.draft.plan}
      error={form.errorOf('plan_id')}
      onChange={(next) => form.set('plan', next)}
    />
  );
}

const inOptions = ['name', 'max_payments', 'ends_at', 'success_url', 'locale'] as const;

function Options({ form }: FieldsProps) {
  const [open, setOpen] = useState(false);
  // A mistake must be seen.
  const wrong = inOptions.some((name) => form.errorOf(name) !== undefined);
  return (
    <details open={open || wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer font-medium">{paymentLinks.options}</summary>
      <div className="mt-4 flex flex-col gap-4">
        {form.draft.sells !== 'plan' && (
          <>
            <CheckField
              form={form}
              name="adjustable"
              label={paymentLinks.adjustable}
              hint={paymentLinks.adjustableHint}
            />
            <CheckField form={form} name="manual" label={paymentLinks.manual} hint={paymentLinks.manualHint} />
          </>
        )}
        <CheckField form={form} name="allow_coupons" label={paymentLinks.coupons} />
        <CheckField form={form} name="shipping" label={paymentLinks.shipping} />
        <CheckField form={form} name="company" label={paymentLinks.company} />
        <FieldRow>
          <NumberField form={form} name="max_payments" label={paymentLinks.max} hint={paymentLinks.maxHint} />
          <TextField form={form} name="ends_at" type="date" label={paymentLinks.ends} hint={paymentLinks.endsHint} />
        </FieldRow>
        <TextField
          form={form}
          name="success_url"
          type="url"
          label={paymentLinks.successUrl}
          hint={paymentLinks.successHint}
          placeholder="https://shop.example.com/thanks"
        />
        <LanguageField
          form={form}
          name="locale"
          label={paymentLinks.language}
          hint={paymentLinks.languageHint}
          none={paymentLinks.noLanguage}
        />
        <TextField form={form} name="name" label={paymentLinks.name} hint={paymentLinks.nameHint} />
      </div>
    </details>
  );
}
