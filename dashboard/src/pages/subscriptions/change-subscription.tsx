import { call } from '../../api.ts';
import { addressChange, AddressField, addressDraft } from '../../components/address.tsx';
import { CycleFields, cycleDraft, cycleOf } from '../../components/billing-cycle.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useList } from '../../data.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { PaymentMethod, Subscription } from '../../types.ts';
import { cardText } from '../../components/add-card.tsx';

export function ChangeSubscription({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const cards = useList<PaymentMethod>(`/v1/customers/${subscription.customer_id}/payment_methods`, { limit: 100 });
  const cycle = cycleDraft(subscription.billing_cycle);
  const form = useForm({
    initial: {
      payment_method_id: subscription.payment_method.id,
      ...cycle,
      description: subscription.description ?? '',
      shipping: addressDraft(subscription.shipping),
    },
    send: (draft, key) => {
      const next = cycleOf(draft);
      const moved = JSON.stringify(next) !== JSON.stringify(cycleOf(cycle));
      const body = {
        ...(draft.payment_method_id !== subscription.payment_method.id
          ? { payment_method_id: draft.payment_method_id }
          : {}),
        ...(moved ? { billing_cycle: next } : {}),
        ...addressChange('shipping', draft.shipping, subscription.shipping),
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
