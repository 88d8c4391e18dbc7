import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, wholeNumber } from '../../components/fields.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Picker } from '../../components/picker.tsx';
import { Sums } from '../../components/sums.tsx';
import { toast } from '../../components/toasts.tsx';
import { useDebounced } from '../../data.ts';
import { dateOnly, money, priceText } from '../../format.ts';
import { useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { planChanges } from '../../texts/plan-changes.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Plan, PlanChange, PlanChangePreview, PlanChangeRequest, Subscription } from '../../types.ts';

type Choice = 'difference' | 'restart' | 'none' | 'renewal';

const choices: readonly Choice[] = ['difference', 'restart', 'none', 'renewal'];

const timeOf = (choice: Choice): Pick<PlanChangeRequest, 'when' | 'proration'> =>
  choice === 'renewal' ? { when: 'renewal' } : { when: 'now', proration: choice };

/** Shows what a change charges before the button that makes it. */
export function ChangePlan({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const [plan, setPlan] = useState<Plan>();
  const [seats, setSeats] = useState(String(subscription.quantity));
  const [choice, setChoice] = useState<Choice>(subscription.status === 'paused' ? 'none' : 'difference');
  const plan_id = plan?.id ?? subscription.plan_id;
  const quantity = Number(seats);
  const isOther = plan_id !== subscription.plan_id || quantity !== subscription.quantity;
  const wanted =
    isOther && Number.isInteger(quantity) && quantity > 0 ? { plan_id, quantity, ...timeOf(choice) } : undefined;
  const preview = usePreview(subscription, wanted);
  const action = useAction<PlanChangeRequest, PlanChange>({
    send: (body, key) => call('POST', `/v1/subscriptions/${subscription.id}/change_plan`, { body, key }),
    onDone: ({ status, order }) => {
      if (status === 'declined') toast(planChanges.declined(order?.failure_reason ?? common.unknown), true);
      else toast(planChanges.done[status]);
      onClose();
    },
  });
  const shown = preview.data;
  const change = () => {
    if (!wanted || !shown) return;
    const { at, amount_due: expected_amount } = shown;
    void action.run({ ...wanted, ...(wanted.when === 'now' && { at }), expected_amount });
  };
  const error = action.error ?? (wanted && preview.error);
  return (
    <Dialog title={planChanges.title} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <Picker<Plan>
          label={subscriptions.plan}
          hint={planChanges.planHint(subscription.plan.name)}
          path="/v1/plans"
          query={{ active: true, currency: subscription.plan.currency }}
          searchBy="search"
          textOf={({ name }) => name}
          detailOf={(item) => priceText(item, item.billing_cycle)}
          value={plan}
          onChange={setPlan}
        />
        <Field label={planChanges.seats}>
          {(props) => (
            <input
              {...props}
              className="control w-28"
              {...wholeNumber}
              value={seats}
              onChange={({ target }) => setSeats(target.value)}
            />
          )}
        </Field>
        <When choice={choice} onChange={setChoice} />
        <div aria-live="polite">{shown && wanted && <Shown preview={shown} />}</div>
        {error && <ErrorNote error={error} />}
      </div>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose} disabled={action.busy}>
          {common.cancel}
        </Button>
        <Button kind="primary" busy={action.busy} disabled={!shown || !wanted} onClick={change}>
          {shown && shown.amount_due > 0
            ? planChanges.charge(money(shown.amount_due, shown.currency))
            : planChanges.change}
        </Button>
      </div>
    </Dialog>
  );
}

function usePreview({ id }: Subscription, wanted: PlanChangeRequest | undefined) {
  const { company } = useSignedIn();
  const text = useDebounced(wanted ? JSON.stringify(wanted) : '');
  return useQuery({
    queryKey: [company.id, 'plan change', id, text],
    queryFn: () =>
      call<PlanChangePreview>('POST', `/v1/subscriptions/${id}/change_plan/preview`, {
        body: JSON.parse(text) as PlanChangeRequest,
      }),
    enabled: text !== '',
    retry: false,
    // The amounts fall with every second.
    staleTime: 0,
  });
}

function When({ choice, onChange }: { choice: Choice; onChange: (choice: Choice) => void }) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-2 text-muted">{planChanges.when}</legend>
      {choices.map((value) => (
        <label
          key={value}
          className="flex items-start gap-3 rounded-[8px] border border-line p-3 has-checked:border-accent-ink has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            name="when"
            className="mt-1 size-4"
            checked={choice === value}
            onChange={() => onChange(value)}
          />
          <span>
            <span className="block font-medium">{planChanges.choices[value].label}</span>
            <span className="block text-sm text-muted">{planChanges.choices[value].hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Shown({
  preview: { lines, amount_due, credit_amount, currency, coupon, renewals },
}: {
  preview: PlanChangePreview;
}) {
  const [next] = renewals;
  return (
    <div className="flex flex-col gap-2">
      <Sums
        sums={[
          ...lines.map(
            ({ type, description, amount }) =>
              [description || planChanges.lines[type], money(amount, currency)] as const,
          ),
          [planChanges.due, money(amount_due, currency)],
          credit_amount > 0 && [planChanges.credit, money(credit_amount, currency)],
          next !== undefined && [planChanges.next(dateOnly(next.date)), money(next.total, currency)],
        ]}
      />
      {coupon && <p className="text-sm text-muted">{planChanges.coupon(coupon.code, coupon.continues)}</p>}
    </div>
  );
}

/** Says what begins with the next renewal, and offers to take it back. */
export function ScheduledNotice({ subscription, reason }: { subscription: Subscription; reason: string | undefined }) {
  const { id, plan_id, scheduled_change: change, next_billing_at } = subscription;
  const undo = useAction<null, unknown>({
    send: (_input, key) => call('POST', `/v1/subscriptions/${id}/change_plan/undo`, { body: {}, key }),
    onDone: () => toast(planChanges.undone),
    tells: true,
  });
  if (!change) return null;
  const day = next_billing_at && dateOnly(next_billing_at);
  return (
    <div
      role="status"
      className="mb-5 flex flex-wrap items-center gap-3 rounded-[8px] bg-info-soft px-4 py-3 text-info"
    >
      <p className="grow">
        {change.plan_id === plan_id
          ? planChanges.scheduledSeats(change.quantity, day)
          : planChanges.scheduled(change.plan.name, change.quantity, day)}
      </p>
      <Button small busy={undo.busy} reason={reason} onClick={() => void undo.run(null)}>
        {planChanges.undo}
      </Button>
    </div>
  );
}
