import { amountText, readAmount } from '../../amounts.ts';
import { Button } from '../../components/button.tsx';
import { Field, FieldRow, MoneyField, MoneyInput, Select } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { type Row, Rows } from '../../components/rows.tsx';
import { Sums } from '../../components/sums.tsx';
import { moneySentence } from '../../error-texts.ts';
import { money } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { plans } from '../../texts/plans.ts';

export interface TierDraft extends Row {
  readonly name: string;
  readonly amount: string;
  readonly kind: string;
}

export interface PriceDraft {
  name: string;
  amount: string;
  one_time_amount: string;
  currency: string;
  /** Empty if the plan has only the two amounts. */
  tiers: readonly TierDraft[];
}

const emptyTier = (key: number): TierDraft => ({ key, name: '', amount: '', kind: 'recurring' });

/** Whether each amount that is typed can be read. Without a price, there is nothing to show. */
export function isPriced({ amount, one_time_amount, currency, tiers }: PriceDraft): boolean {
  const isAmount = (text: string): boolean => readAmount(text, currency).amount !== undefined;
  if (tiers.length > 0) return tiers.every((tier) => isAmount(tier.amount));
  return isAmount(amount) && (one_time_amount.trim() === '' || isAmount(one_time_amount));
}

/** The price of each cycle and the setup fee, as far as the fields are valid. */
export function priceOf(draft: PriceDraft): { amount: number; one_time_amount: number } {
  const read = (text: string): number => readAmount(text, draft.currency).amount ?? 0;
  const sumOf = (kind: string): number =>
    draft.tiers.reduce((sum, tier) => sum + (tier.kind === kind ? read(tier.amount) : 0), 0);
  return draft.tiers.length > 0
    ? { amount: sumOf('recurring'), one_time_amount: sumOf('one_time') }
    : { amount: read(draft.amount), one_time_amount: read(draft.one_time_amount) };
}

export const tiersOf = ({ tiers, currency }: PriceDraft) =>
  tiers.map(({ name, amount, kind }) => ({ name: name.trim(), amount: readAmount(amount, currency).amount, kind }));

export function checkPrice(draft: PriceDraft): Record<string, string | undefined> {
  const { tiers, amount, one_time_amount, currency } = draft;
  const problemOf = (text: string): string | undefined => readAmount(text, currency).problem;
  if (tiers.length === 0) {
    return {
      amount: problemOf(amount),
      one_time_amount: one_time_amount.trim() === '' ? undefined : problemOf(one_time_amount),
    };
  }
  return Object.fromEntries(
    tiers.flatMap((tier, index) => [
      [`pricing_tiers[${index}].name`, tier.name.trim() ? undefined : common.required],
      [`pricing_tiers[${index}].amount`, problemOf(tier.amount)],
    ]),
  );
}

/** The price of a plan: two amounts, or tiers that add up to them. */
export function PriceFields<Draft extends PriceDraft>(props: { form: FormState<Draft> }) {
  // The other fields of the form do not matter here.
  const form = props.form as unknown as FormState<PriceDraft>;
  const { draft } = form;
  const { tiers, currency } = draft;
  if (tiers.length === 0) {
    return (
      <>
        <FieldRow>
          <MoneyField form={form} name="amount" label={plans.amount} currency={currency} />
          <MoneyField
            form={form}
            name="one_time_amount"
            label={plans.oneTime}
            hint={plans.oneTimeHint}
            currency={currency}
          />
        </FieldRow>
        <div>
          <Button small icon="plus" onClick={() => form.set('tiers', tiersFrom(draft))}>
            {plans.split}
          </Button>
          <p className="mt-1 text-sm text-muted">{plans.splitHint}</p>
        </div>
      </>
    );
  }
  const { amount, one_time_amount } = priceOf(draft);
  function change(next: readonly TierDraft[]): void {
    // When the last tier is removed, its sums become the two amounts.
    if (next.length === 0) {
      form.set('amount', amountText(amount, currency));
      form.set('one_time_amount', one_time_amount > 0 ? amountText(one_time_amount, currency) : '');
    }
    form.set('tiers', next);
  }
  const wrong = form.errorOf('pricing_tiers') ?? form.errorOf('amount') ?? form.errorOf('one_time_amount');
  return (
    <fieldset className="flex flex-col gap-4 rounded-[8px] border border-line p-4">
      <legend className="px-1 text-sm font-medium">{plans.tiers}</legend>
      <Rows rows={tiers} onChange={change} blank={emptyTier} add={plans.addTier} remove={plans.removeTier}>
        {(tier, index, set) => (
          <div className="grid gap-3 sm:grid-cols-[1fr_8rem_10.5rem]">
            <Field label={common.name} error={form.errorOf(`pricing_tiers[${index}].name`)}>
              {(attributes) => (
                <input
                  {...attributes}
                  className="control"
                  autoFocus={tier.name === ''}
                  value={tier.name}
                  onChange={(event) => set({ name: event.target.value })}
                />
              )}
            </Field>
            <MoneyInput
              label={common.amount}
              error={form.errorOf(`pricing_tiers[${index}].amount`)}
              currency={currency}
              value={tier.amount}
              onChange={(text) => set({ amount: text })}
            />
            <Field label={plans.tierKind} error={form.errorOf(`pricing_tiers[${index}].kind`)}>
              {(attributes) => (
                <Select
                  {...attributes}
                  choices={Object.entries(plans.tierKinds).map(([value, label]) => ({ value, label }))}
                  value={tier.kind}
                  onChange={(event) => set({ kind: event.target.value })}
                />
              )}
            </Field>
          </div>
        )}
      </Rows>
      <div aria-live="polite" className="border-t border-line pt-3">
        {isPriced(draft) && <PriceSums amount={amount} one_time_amount={one_time_amount} currency={currency} />}
        {wrong && <p className="mt-1 text-sm text-bad">{moneySentence(wrong, currency)}</p>}
      </div>
    </fieldset>
  );
}

function tiersFrom({ name, amount, one_time_amount }: PriceDraft): TierDraft[] {
  const first = { key: 1, name, amount, kind: 'recurring' };
  const fee = { key: 2, name: plans.oneTime, amount: one_time_amount, kind: 'one_time' };
  return one_time_amount === '' ? [first] : [first, fee];
}

interface PriceSumsProps {
  readonly amount: number;
  readonly one_time_amount: number;
  readonly currency: string;
}

export function PriceSums({ amount, one_time_amount, currency }: PriceSumsProps) {
  return (
    <Sums
      sums={[
        [plans.amount, money(amount, currency)],
        one_time_amount > 0 && [plans.oneTime, money(one_time_amount, currency)],
        one_time_amount > 0 && [plans.firstBill, money(amount + one_time_amount, currency)],
      ]}
    />
  );
}
