import { call } from '../../api.ts';
import { AddressField, addressDraft, addressOf } from '../../components/address.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmForm } from '../../components/confirm.tsx';
import { CouponField, useCoupon } from '../../components/coupon-field.tsx';
import { checkPayer, CustomerAndCard, noPayer } from '../../components/customer-card.tsx';
import { FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import { FormError, PlainForm, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { toast } from '../../components/toasts.tsx';
import { useFilters, useGet } from '../../data.ts';
import { cycleText, money, personName, priceText } from '../../format.ts';
import { customers } from '../../texts/customers.ts';
import { planChanges } from '../../texts/plan-changes.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Plan, Subscription } from '../../types.ts';
import { navigate } from '../../routing.tsx';

const initial = {
  payer: noPayer,
  plan: undefined as Plan | undefined,
  quantity: '1',
  start_date: '',
  end_date: '',
  coupon_code: '',
  shipping: addressDraft(null),
};

const seatsOf = ({ quantity }: typeof initial): number | undefined =>
  /^[1-9]\d*$/.test(quantity.trim()) ? Number(quantity) : undefined;

export function NewSubscriptionPage() {
  const [{ plan: given }] = useFilters();
  const first = useGet<Plan>(`/v1/plans/${given}`, {}, { enabled: given !== undefined });
  const planOf = (draft: typeof initial): Plan | undefined => draft.plan ?? first.data;
  const form = useForm({
    initial,
    asks: true,
    check: (draft) => ({
      ...checkPayer(draft.payer),
      plan_id: planOf(draft) ? undefined : subscriptions.choosePlan,
      quantity: seatsOf(draft) ? undefined : planChanges.wrongSeats,
    }),
    send: (draft, key) => {
      const { payer, start_date, end_date, coupon_code, shipping } = draft;
      const address = addressOf(shipping);
      const body = {
        customer_id: payer.customer?.id,
        payment_method_id: payer.card?.id,
        plan_id: planOf(draft)?.id,
        quantity: seatsOf(draft),
        ...(start_date ? { start_date } : {}),
        ...(end_date ? { end_date } : {}),
        ...(coupon_code.trim() ? { coupon_code: coupon_code.trim() } : {}),
        ...(address ? { shipping: address } : {}),
      };
      return call<Subscription>('POST', '/v1/subscriptions', { body, key });
    },
    onDone: ({ id, status, last_failure_message }) => {
      const failed = status === 'failed';
      toast(failed ? subscriptions.startFailed(last_failure_message ?? '') : subscriptions.started, failed);
      void navigate({ to: `/subscriptions/${id}` });
    },
  });
  const { payer, start_date, coupon_code } = form.draft;
  const plan = planOf(form.draft);
  const whole = plan ? plan.amount * (seatsOf(form.draft) ?? 1) + plan.one_time_amount : 0;
  const verdict = useCoupon(
    coupon_code,
    plan && { plan_id: plan.id, amount: whole, ...(payer.customer ? { customer_id: payer.customer.id } : {}) },
  );
  const amount = money(verdict?.valid ? verdict.total_after_discount : whole, plan?.currency);
  return (
    <Page title={subscriptions.add} back={{ to: '/subscriptions', label: subscriptions.title }}>
      <PlainForm form={form} className="max-w-2xl">
        <Panel>
          <div className="flex flex-col gap-4">
            <CustomerAndCard form={form} />
            <Picker<Plan>
              label={subscriptions.plan}
              hint={subscriptions.planHint}
              path="/v1/plans"
              query={{ active: true }}
              searchBy="search"
              textOf={({ name }) => name}
              detailOf={(item) => priceText(item, item.billing_cycle)}
              value={plan}
              error={form.errorOf('plan_id')}
              onChange={(next) => form.set('plan', next)}
            />
            <NumberField form={form} name="quantity" label={planChanges.seats} hint={planChanges.seatsHint} />
            <FieldRow>
              <TextField
                form={form}
                name="start_date"
                label={subscriptions.startDate}
                hint={subscriptions.startHint}
                type="date"
              />
              <TextField
                form={form}
                name="end_date"
                label={subscriptions.endDate}
                hint={subscriptions.endHint}
                type="date"
              />
            </FieldRow>
            <CouponField form={form} verdict={verdict} currency={plan?.currency ?? 'usd'} />
            <AddressField
              form={form}
              name="shipping"
              label={customers.shippingAddress}
              known={payer.customer?.shipping_address}
            />
            <FormError form={form} />
            <div className="flex items-center justify-between gap-4">
              {plan && (
                <p>
                  <span className="block text-sm text-muted">
                    {start_date ? subscriptions.later : subscriptions.today}
                  </span>
                  <span className="text-2xl font-semibold tabular-nums">{amount}</span>
                </p>
              )}
              <Button type="submit" kind="primary" className="ml-auto">
                {subscriptions.start}
              </Button>
            </div>
          </div>
        </Panel>
      </PlainForm>
      {plan && payer.customer && (
        <ConfirmForm form={form} title={subscriptions.confirmTitle} amount={amount} confirm={subscriptions.start}>
          {subscriptions.confirmText(personName(payer.customer), cycleText(plan.billing_cycle))}
        </ConfirmForm>
      )}
    </Page>
  );
}
