import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CustomerAndCard, type Payer } from '../../components/customer-card.tsx';
import { Field, FieldRow } from '../../components/fields.tsx';
import { focusMistake } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { toast } from '../../components/toasts.tsx';
import { useFilters, useGet } from '../../data.ts';
import { cycleText, money, personName } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Plan, Subscription } from '../../types.ts';

export function NewSubscriptionPage() {
  const navigate = useNavigate();
  const [{ plan: given }] = useFilters();
  const [payer, setPayer] = useState<Payer>({ customer: undefined, card: undefined });
  const [chosenPlan, setPlan] = useState<Plan>();
  const [start, setStart] = useState('');
  const [end, setEnd] = useState('');
  const [coupon, setCoupon] = useState('');
  const [checked, setChecked] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const first = useGet<Plan>(`/v1/plans/${given}`, {}, { enabled: given !== undefined && !chosenPlan });
  const plan = chosenPlan ?? first.data;
  const amount = plan ? money(plan.amount + plan.one_time_amount, plan.currency) : money(0, 'usd');
  const body = {
    customer_id: payer.customer?.id,
    payment_method_id: payer.card?.id,
    plan_id: plan?.id,
    ...(start ? { start_date: start } : {}),
    ...(end ? { end_date: end } : {}),
    ...(coupon.trim() ? { coupon_code: coupon.trim() } : {}),
  };
  return (
    <Page title={subscriptions.add} back={{ to: '/subscriptions', label: subscriptions.title }}>
      <form
        noValidate
        className="max-w-2xl"
        onSubmit={(event) => {
          event.preventDefault();
          setChecked(true);
          focusMistake(event.currentTarget);
          if (payer.customer && payer.card && plan) setConfirming(true);
        }}
      >
        <Panel>
          <div className="flex flex-col gap-4">
            <CustomerAndCard
              onChange={setPayer}
              errors={{ customer: checked && !payer.customer ? orders.chooseCustomer : undefined }}
            />
            <Picker<Plan>
              label={subscriptions.plan}
              hint={subscriptions.planHint}
              path="/v1/plans"
              query={{ active: true }}
              searchBy="search"
              textOf={({ name }) => name}
              detailOf={(item) => `${money(item.amount, item.currency)} ${cycleText(item.billing_cycle)}`}
              value={plan}
              error={checked && !plan ? subscriptions.choosePlan : undefined}
              onChange={setPlan}
            />
            <FieldRow>
              <Field label={subscriptions.startDate} hint={subscriptions.startHint}>
                {(attributes) => (
                  <input
                    {...attributes}
                    type="date"
                    className="control"
                    value={start}
                    onChange={(event) => setStart(event.target.value)}
                  />
                )}
              </Field>
              <Field label={subscriptions.endDate} hint={subscriptions.endHint}>
                {(attributes) => (
                  <input
                    {...attributes}
                    type="date"
                    className="control"
                    value={end}
                    onChange={(event) => setEnd(event.target.value)}
                  />
                )}
              </Field>
            </FieldRow>
            <Field label={subscriptions.coupon} hint={common.optional}>
              {(attributes) => (
                <input
                  {...attributes}
                  className="control"
                  value={coupon}
                  onChange={(event) => setCoupon(event.target.value)}
                />
              )}
            </Field>
            <div className="flex items-center justify-between gap-4">
              <p>
                <span className="block text-sm text-muted">{start ? subscriptions.later : subscriptions.today}</span>
                <span className="text-2xl font-semibold tabular-nums">{amount}</span>
              </p>
              <Button type="submit" kind="primary">
                {subscriptions.start}
              </Button>
            </div>
          </div>
        </Panel>
      </form>
      {confirming && plan && payer.customer && (
        <Confirm<Subscription>
          title={subscriptions.confirmTitle}
          amount={amount}
          confirm={subscriptions.start}
          send={(key) => call('POST', '/v1/subscriptions', { body, key })}
          onDone={(made) => {
            const failed = made.status === 'failed';
            toast(failed ? subscriptions.startFailed(made.last_failure_message ?? '') : subscriptions.started, failed);
            void navigate({ to: `/subscriptions/${made.id}` });
          }}
          onClose={() => setConfirming(false)}
        >
          {subscriptions.confirmText(personName(payer.customer), cycleText(plan.billing_cycle))}
        </Confirm>
      )}
    </Page>
  );
}
