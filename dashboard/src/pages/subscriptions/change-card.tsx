import { useState } from 'react';
import { changeField } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Amount } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet, useList } from '../../data.ts';
import { money } from '../../format.ts';
import { customers } from '../../texts/customers.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Order, PaymentMethod, Subscription } from '../../types.ts';
import { AddCard, cardText } from '../../components/add-card.tsx';

/** Changes the card of a past-due subscription and charges it immediately. */
export function ChangeCard({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const path = `/v1/customers/${subscription.customer_id}/payment_methods`;
  const cards = useList<PaymentMethod>(path, { limit: 100 });
  const order = useGet<Order>(`/v1/orders/${subscription.latest_order_id}`);
  const [adding, setAdding] = useState(false);
  const others = (cards.data?.data ?? []).filter(({ id }) => id !== subscription.payment_method.id);
  const form = useForm({
    initial: { card: '' },
    check: ({ card }) => ({ card: card || others[0] ? undefined : subscriptions.noOtherCard }),
    send: ({ card }, key) =>
      changeField<PaymentMethod>(`${path}/${card || others[0]?.id}`, 'update_subscriptions', true, key),
    onDone: () => {
      toast(subscriptions.cardChanged);
      onClose();
    },
  });
  const owed = order.data && money(order.data.total, order.data.currency);
  if (adding) return <AddCard path={path} onClose={() => setAdding(false)} onDone={({ id }) => form.set('card', id)} />;
  return (
    <Dialog title={subscriptions.changeCard} onClose={onClose}>
      <Form form={form} submit={owed ? subscriptions.charge(owed) : subscriptions.changeCard} onCancel={onClose}>
        <Field
          label={subscriptions.newCard}
          error={cards.data && others.length === 0 ? subscriptions.noOtherCard : form.errorOf('card')}
          aside={
            <Button small kind="quiet" icon="plus" onClick={() => setAdding(true)}>
              {customers.addCard}
            </Button>
          }
        >
          {(attributes) => (
            <Select
              {...attributes}
              name="card"
              disabled={others.length === 0}
              value={form.draft.card || (others[0]?.id ?? '')}
              onChange={(event) => form.set('card', event.target.value)}
              choices={others.map((method) => ({ value: method.id, label: cardText(method) }))}
            />
          )}
        </Field>
        {owed && <Amount text={owed} label={subscriptions.chargedNow} />}
        <p className="text-sm text-muted">{subscriptions.changeCardText}</p>
      </Form>
    </Dialog>
  );
}
