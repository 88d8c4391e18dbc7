import { AddressField, addressDraft, addressOf, addressText } from '../../components/address.tsx';
import { CycleFields, cycleDraft, cycleOf } from '../../components/billing-cycle.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { Form } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useList } from '../../data.ts';
import { editedFields } from '../../edits.ts';
import { cycleText } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { PaymentMethod, Subscription } from '../../types.ts';
import { cardText } from '../../components/add-card.tsx';

const draftOf = (subscription: Subscription) => ({
  payment_method_id: subscription.payment_method.id,
  ...cycleDraft(subscription.billing_cycle),
  description: subscription.description ?? '',
  shipping: addressDraft(subscription.shipping),
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = (draft: Draft) => ({
  payment_method_id: draft.payment_method_id,
  billing_cycle: cycleOf(draft),
  shipping: addressOf(draft.shipping),
  description: draft.description || null,
});

const fieldsFor = (cards: readonly PaymentMethod[]) =>
  editedFields<Draft>({
    payment_method_id: {
      label: subscriptions.card,
      choices: Object.fromEntries(cards.map((method) => [method.id, cardText(method)])),
    },
    billing_cycle: {
      label: subscriptions.interval,
      of: ['interval', 'interval_count', 'anchor_day'],
      path: 'billing_cycle.interval_count',
      show: (draft) => cycleSentence(cycleOf(draft)),
    },
    description: common.description,
    shipping: { label: customers.shippingAddress, show: ({ shipping }) => addressText(shipping) },
  });

/** `every month, on day 15` */
function cycleSentence(cycle: ReturnType<typeof cycleOf>): string {
  const { anchor_day } = cycle;
  return anchor_day === 'signup_date' ? cycleText(cycle) : `${cycleText(cycle)}, ${subscriptions.onDay(anchor_day)}`;
}

export function ChangeSubscription({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const cards = useList<PaymentMethod>(`/v1/customers/${subscription.customer_id}/payment_methods`, { limit: 100 });
  const form = useEditForm({
    object: subscription,
    path: `/v1/subscriptions/${subscription.id}`,
    draftOf: (known) => draftOf(known ?? subscription),
    bodyOf,
    fields: fieldsFor(cards.data?.data ?? []),
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
        <CycleFields form={form} hint={subscriptions.anchorHint} />
        <TextField form={form} name="description" label={common.description} placeholder={common.optional} />
        <AddressField
          form={form}
          name="shipping"
          label={customers.shippingAddress}
          known={subscription.customer?.shipping_address}
        />
      </Form>
    </Dialog>
  );
}
