import { call } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { FieldRow, SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useList } from '../../data.ts';
import { common } from '../../texts/common.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { PaymentMethod, Subscription } from '../../types.ts';
import { cardText } from '../customers/cards.tsx';

export function ChangeSubscription({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const cards = useList<PaymentMethod>(`/v1/customers/${subscription.customer_id}/payment_methods`, { limit: 100 });
  const { billing_cycle: cycle } = subscription;
  const form = useForm({
    initial: {
      payment_method_id: subscription.payment_method.id,
      interval: cycle.interval,
      interval_count: String(cycle.interval_count),
      anchor_day: cycle.anchor_day === 'signup_date' ? '' : String(cycle.anchor_day),
      description: subscription.description ?? '',
    },
    send: (draft, key) => {
      const next = {
        interval: draft.interval,
        interval_count: Number(draft.interval_count),
        anchor_day: draft.anchor_day === '' ? 'signup_date' : Number(draft.anchor_day),
      };
      const moved =
        JSON.stringify(next) !==
        JSON.stringify({
          interval: cycle.interval,
          interval_count: cycle.interval_count,
          anchor_day: cycle.anchor_day,
        });
      const body = {
        ...(draft.payment_method_id !== subscription.payment_method.id
          ? { payment_method_id: draft.payment_method_id }
          : {}),
        ...(moved ? { billing_cycle: next } : {}),
        description: draft.description || null,
      };
      return call<Subscription>('PATCH', `/v1/subscriptions/${subscription.id}`, { body, key });
    },
    onDone: () => {
      toast(common.saved);
      onClose();
    },
  });
  return (
    <Dialog title={subscriptions.editTitle} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <SelectField
          form={form}
          name="payment_method_id"
          label={subscriptions.card}
          choices={(cards.data?.data ?? []).map((method) => ({ value: method.id, label: cardText(method) }))}
        />
        <FieldRow>
          <TextField
            form={form}
            name="interval_count"
            path="billing_cycle.interval_count"
            label={subscriptions.every}
            type="number"
            min={1}
          />
          <SelectField
            form={form}
            name="interval"
            path="billing_cycle.interval"
            label={subscriptions.interval}
            choices={Object.entries(subscriptions.intervals).map(([value, label]) => ({ value, label }))}
          />
        </FieldRow>
        {form.draft.interval === 'month' && (
          <TextField
            form={form}
            name="anchor_day"
            path="billing_cycle.anchor_day"
            label={subscriptions.anchor}
            hint={subscriptions.anchorHint}
            type="number"
            min={1}
            max={31}
          />
        )}
        <TextField form={form} name="description" label={common.description} hint={common.optional} />
      </Form>
    </Dialog>
  );
}
