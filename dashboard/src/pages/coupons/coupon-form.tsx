import { amountText, readAmount, readPercentage } from '../../amounts.ts';
import type { CheckoutDraft } from '../../components/checkout-preview.tsx';
import { CurrencyField } from '../../components/choice-field.tsx';
import { CheckField, FieldRow, MoneyField, NumberField, SelectField, TextField } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { editedFields, typedMoney, typedTime } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { coupons } from '../../texts/coupons.ts';
import { preview } from '../../texts/preview.ts';
import type { Coupon } from '../../types.ts';
import { ScopeField } from './scope-field.tsx';

export interface CouponDraft {
  kind: string;
  name: string;
  description: string;
  how: string;
  percentage: string;
  amount: string;
  currency: string;
  max_discount_amount: string;
  duration: string;
  duration_in_cycles: string;
  minimum_amount: string;
  max_redemptions: string;
  max_redemptions_per_customer: string;
  max_redemptions_per_code: string;
  first_time_customer_only: boolean;
  starts_at: string;
  expires_at: string;
  code_prefix: string;
  count: string;
  product_scope: string;
  product_ids: readonly string[];
  plan_scope: string;
  plan_ids: readonly string[];
}

const text = (value: number | null | undefined): string => (value === null || value === undefined ? '' : String(value));
/** A percentage has no currency. Its limits are in dollars. */
const currencyOf = ({ how, currency }: Pick<CouponDraft, 'how' | 'currency'>): string =>
  how === 'percentage' ? 'usd' : currency;

export function draftOf(coupon?: Coupon): CouponDraft {
  const moneyText = (value: number | null | undefined): string =>
    value ? amountText(value, coupon?.currency ?? 'usd') : '';
  return {
    kind: coupon?.kind ?? 'promo',
    name: coupon?.name ?? '',
    description: coupon?.description ?? '',
    how: coupon && coupon.amount !== null ? 'amount' : 'percentage',
    percentage: text(coupon?.percentage),
    amount: moneyText(coupon?.amount),
    currency: coupon?.currency ?? 'usd',
    max_discount_amount: moneyText(coupon?.max_discount_amount),
    duration: coupon?.duration ?? 'once',
    duration_in_cycles: text(coupon?.duration_in_cycles),
    minimum_amount: moneyText(coupon?.minimum_amount),
    max_redemptions: text(coupon?.max_redemptions),
    max_redemptions_per_customer: text(coupon?.max_redemptions_per_customer),
    max_redemptions_per_code: text(coupon?.max_redemptions_per_code),
    first_time_customer_only: coupon?.first_time_customer_only ?? false,
    starts_at: coupon?.starts_at?.slice(0, 16) ?? '',
    expires_at: coupon?.expires_at?.slice(0, 16) ?? '',
    code_prefix: coupon?.code_prefix ?? '',
    count: '',
    product_scope: coupon?.product_scope ?? 'all',
    product_ids: coupon?.product_ids ?? [],
    plan_scope: coupon?.plan_scope ?? 'all',
    plan_ids: coupon?.plan_ids ?? [],
  };
}

const numberOf = (value: string): number | undefined => (value.trim() === '' ? undefined : Number(value));
const momentOf = (value: string): string | undefined => (value === '' ? undefined : `${value}:00Z`);

/** Empty fields are omitted. Only fields that the API can clear are null. */
export function bodyOf(draft: CouponDraft): Record<string, unknown> {
  const byPercentage = draft.how === 'percentage';
  const amountOf = (value: string): number | undefined => readAmount(value, currencyOf(draft)).amount;
  return {
    name: draft.name.trim(),
    description: draft.description || null,
    percentage: byPercentage ? readPercentage(draft.percentage).amount : undefined,
    amount: byPercentage ? null : amountOf(draft.amount),
    currency: byPercentage ? undefined : draft.currency.trim().toLowerCase(),
    max_discount_amount: byPercentage ? (amountOf(draft.max_discount_amount) ?? null) : null,
    duration: draft.duration,
    duration_in_cycles: draft.duration === 'repeating' ? (numberOf(draft.duration_in_cycles) ?? null) : null,
    minimum_amount: amountOf(draft.minimum_amount) ?? 0,
    max_redemptions: numberOf(draft.max_redemptions),
    max_redemptions_per_customer: numberOf(draft.max_redemptions_per_customer),
    ...(draft.kind === 'generated' ? { max_redemptions_per_code: numberOf(draft.max_redemptions_per_code) } : {}),
    first_time_customer_only: draft.first_time_customer_only,
    product_scope: draft.product_scope,
    product_ids: draft.product_ids,
    plan_scope: draft.plan_scope,
    plan_ids: draft.plan_ids,
    starts_at: momentOf(draft.starts_at),
    expires_at: momentOf(draft.expires_at),
    ...(draft.kind === 'generated' ? { code_prefix: draft.code_prefix.trim() } : {}),
  };
}

/** The checkout page of an example with this discount. Limits of use are not part of it. */
export function previewOf(draft: CouponDraft): CheckoutDraft {
  const { percentage, amount, currency, max_discount_amount } = bodyOf(draft);
  if (percentage === undefined && typeof amount !== 'number') return { mode: 'payment', allow_coupons: true };
  const code = draft.kind === 'promo' ? draft.name.trim() : `${draft.code_prefix.trim()}7K2MQX`;
  const discount = { percentage: percentage ?? null, amount, currency: currency ?? 'usd', max_discount_amount };
  return { mode: 'payment', allow_coupons: true, coupon: { code: code || preview.code, ...discount } };
}

/** The discount is one field: a percentage, or an amount with its currency. */
function discountOf({ how, percentage, amount, currency, max_discount_amount }: CouponDraft): string {
  if (how === 'amount') return typedMoney(amount, currency);
  const limit = max_discount_amount.trim();
  return `${percentage.trim()}%${limit ? ` (${coupons.maxDiscount}: ${typedMoney(limit, 'usd')})` : ''}`;
}

const scopeText =
  (kind: 'product' | 'plan') =>
  (draft: CouponDraft): string => {
    const scope = draft[`${kind}_scope`];
    const name = coupons.scopes[scope as keyof typeof coupons.scopes] ?? scope;
    return scope === 'specific' ? `${name} (${draft[`${kind}_ids`].length})` : name;
  };

export const couponFields = editedFields<CouponDraft>({
  name: coupons.name,
  description: common.description,
  discount: {
    label: coupons.how,
    of: ['how', 'percentage', 'amount', 'currency', 'max_discount_amount'],
    path: 'how',
    show: discountOf,
  },
  duration: {
    label: coupons.duration,
    of: ['duration', 'duration_in_cycles'],
    show: ({ duration, duration_in_cycles: cycles }) =>
      `${coupons.durations[duration as Coupon['duration']] ?? duration}${cycles ? ` (${cycles})` : ''}`,
  },
  minimum_amount: {
    label: coupons.minimum,
    show: (draft) => typedMoney(draft.minimum_amount || '0', currencyOf(draft)),
  },
  max_redemptions: coupons.uses(coupons.maxAll),
  max_redemptions_per_customer: coupons.uses(coupons.maxCustomer),
  max_redemptions_per_code: coupons.uses(coupons.maxCode),
  first_time_customer_only: coupons.firstTime,
  starts_at: { label: coupons.startsShort, show: ({ starts_at }) => typedTime(starts_at) },
  expires_at: { label: coupons.expiresShort, show: ({ expires_at }) => typedTime(expires_at) },
  products: {
    label: coupons.scopeOf.product,
    of: ['product_scope', 'product_ids'],
    path: 'product_scope',
    show: scopeText('product'),
  },
  plans: { label: coupons.scopeOf.plan, of: ['plan_scope', 'plan_ids'], path: 'plan_scope', show: scopeText('plan') },
  code_prefix: coupons.prefix,
  // These two are only set when a coupon is created.
  kind: { label: coupons.kind, of: ['kind', 'count'] },
});

const keptOnceSet = [
  ['max_redemptions', coupons.limitStays],
  ['max_redemptions_per_customer', coupons.limitStays],
  ['max_redemptions_per_code', coupons.limitStays],
  ['starts_at', coupons.dateStays],
  ['expires_at', coupons.dateStays],
] as const;

export function checkCoupon(draft: CouponDraft, coupon?: Coupon): Record<string, string | undefined> {
  const byPercentage = draft.how === 'percentage';
  const emptied = keptOnceSet.filter(([name]) => draft[name] === '' && coupon && coupon[name] !== null);
  const problemOf = (value: string): string | undefined => readAmount(value, currencyOf(draft)).problem;
  const problemIfAny = (value: string): string | undefined => (value.trim() === '' ? undefined : problemOf(value));
  return {
    ...Object.fromEntries(emptied),
    percentage: byPercentage ? readPercentage(draft.percentage).problem : undefined,
    amount: byPercentage ? undefined : problemOf(draft.amount),
    max_discount_amount: byPercentage ? problemIfAny(draft.max_discount_amount) : undefined,
    minimum_amount: problemIfAny(draft.minimum_amount),
  };
}

const choicesOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([value, label]) => ({ value, label }));

export function CouponFields({ form, editing }: { form: FormState<CouponDraft>; editing: boolean }) {
  const { draft } = form;
  return (
    <>
      {!editing && <SelectField form={form} name="kind" label={coupons.kind} choices={choicesOf(coupons.kinds)} />}
      <FieldRow>
        <TextField
          form={form}
          name="name"
          label={coupons.name}
          hint={draft.kind === 'promo' ? coupons.nameHint : undefined}
        />
        <TextField form={form} name="description" label={common.description} placeholder={common.optional} />
      </FieldRow>
      <FieldRow>
        <SelectField form={form} name="how" label={coupons.how} choices={choicesOf(coupons.hows)} />
        {draft.how === 'percentage' ? (
          <TextField form={form} name="percentage" label={coupons.percentage} inputMode="decimal" autoComplete="off" />
        ) : (
          <MoneyField form={form} name="amount" label={coupons.amount} currency={draft.currency} />
        )}
      </FieldRow>
      {draft.how === 'percentage' ? (
        <MoneyField
          form={form}
          name="max_discount_amount"
          label={coupons.maxDiscount}
          hint={coupons.maxDiscountHint}
          currency={currencyOf(draft)}
        />
      ) : (
        <CurrencyField form={form} name="currency" />
      )}
      <FieldRow>
        <SelectField form={form} name="duration" label={coupons.duration} choices={choicesOf(coupons.durations)} />
        {draft.duration === 'repeating' && <NumberField form={form} name="duration_in_cycles" label={coupons.cycles} />}
        <MoneyField form={form} name="minimum_amount" label={coupons.minimum} currency={currencyOf(draft)} />
      </FieldRow>
      <fieldset className="grid gap-4 sm:grid-cols-3">
        <legend className="mb-2 font-medium">{coupons.limits}</legend>
        <NumberField form={form} name="max_redemptions" label={coupons.maxAll} placeholder={coupons.limitHint} />
        <NumberField
          form={form}
          name="max_redemptions_per_customer"
          label={coupons.maxCustomer}
          placeholder={coupons.limitHint}
        />
        {draft.kind === 'generated' && (
          <NumberField
            form={form}
            name="max_redemptions_per_code"
            label={coupons.maxCode}
            placeholder={coupons.limitHint}
          />
        )}
      </fieldset>
      <FieldRow>
        <TextField form={form} name="starts_at" label={coupons.starts} type="datetime-local" />
        <TextField form={form} name="expires_at" label={coupons.expires} type="datetime-local" />
      </FieldRow>
      <FieldRow>
        {(['product', 'plan'] as const).map((kind) => (
          <ScopeField
            key={kind}
            label={coupons.scopeOf[kind]}
            path={`/v1/${kind}s`}
            scope={draft[`${kind}_scope`]}
            ids={draft[`${kind}_ids`]}
            error={form.errorOf(`${kind}_scope`) ?? form.errorOf(`${kind}_ids`)}
            onChange={(scope, ids) => {
              form.set(`${kind}_scope`, scope);
              form.set(`${kind}_ids`, ids);
            }}
          />
        ))}
      </FieldRow>
      <CheckField form={form} name="first_time_customer_only" label={coupons.firstTime} />
      {draft.kind === 'generated' && (
        <FieldRow>
          <TextField form={form} name="code_prefix" label={coupons.prefix} placeholder={common.optional} />
          {!editing && (
            <NumberField
              form={form}
              name="count"
              path="codes.count"
              label={coupons.count}
              placeholder={common.optional}
            />
          )}
        </FieldRow>
      )}
    </>
  );
}
