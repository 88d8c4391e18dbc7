import { useEffect, useState } from 'react';
import { AddCard, cardText } from './add-card.tsx';
import { useFilters, useGet, useList } from '../data.ts';
import { personName } from '../format.ts';
import { orders } from '../texts/orders.ts';
import { customers } from '../texts/customers.ts';
import type { Customer, PaymentMethod } from '../types.ts';
import { type AddressDraft, addressFor } from './address.tsx';
import { Button } from './button.tsx';
import { Field, Select } from './fields.tsx';
import type { FormState } from './form.tsx';
import { Picker } from './picker.tsx';

export interface Payer {
  readonly customer: Customer | undefined;
  readonly card: PaymentMethod | undefined;
}

export const noPayer: Payer = { customer: undefined, card: undefined };

export const checkPayer = ({ customer, card }: Payer): Record<string, string | undefined> => ({
  customer_id: customer ? undefined : orders.chooseCustomer,
  payment_method_id: customer && !card ? orders.noCard : undefined,
});

export interface PayerDraft {
  payer: Payer;
  shipping: AddressDraft;
}

/** Selects the customer and one of their cards. The URL can preselect the customer. */
export function CustomerAndCard<Draft extends PayerDraft>(props: { form: FormState<Draft> }) {
  // The other fields of the form do not matter here.
  const form = props.form as unknown as FormState<PayerDraft>;
  const [{ customer: given }] = useFilters();
  const [customer, setCustomer] = useState<Customer>();
  const [cardId, setCardId] = useState<string>();
  const [adding, setAdding] = useState(false);
  const first = useGet<Customer>(`/v1/customers/${given}`, {}, { enabled: given !== undefined && !customer });
  const chosen = customer ?? first.data;
  const path = `/v1/customers/${chosen?.id}/payment_methods`;
  const cards = useList<PaymentMethod>(path, { limit: 100 }, { enabled: chosen !== undefined });
  const methods = chosen ? (cards.data?.data ?? []) : [];
  const card = methods.find(({ id }) => id === cardId) ?? methods.find(({ is_default }) => is_default) ?? methods[0];
  // Report every selection to the form, also one from the URL.
  useEffect(() => {
    const { payer, shipping } = form.draft;
    form.set('payer', { customer: chosen, card });
    form.set('shipping', addressFor(shipping, payer.customer?.shipping_address, chosen?.shipping_address));
  }, [chosen?.id, card?.id]);
  return (
    <>
      <Picker<Customer>
        label={orders.customer}
        hint={orders.customerHint}
        error={form.errorOf('customer_id')}
        path="/v1/customers"
        searchBy="q"
        textOf={personName}
        detailOf={({ email }) => email}
        value={chosen}
        onChange={(next) => {
          setCustomer(next);
          setCardId(undefined);
        }}
      />
      {chosen && (
        <Field
          label={orders.card}
          error={cards.data && methods.length === 0 ? orders.noCard : form.errorOf('payment_method_id')}
          aside={
            <Button small kind="quiet" icon="plus" onClick={() => setAdding(true)}>
              {customers.addCard}
            </Button>
          }
        >
          {(attributes) => (
            <Select
              {...attributes}
              disabled={methods.length === 0}
              value={card?.id ?? ''}
              onChange={(event) => setCardId(event.target.value)}
              choices={methods.map((method) => ({ value: method.id, label: cardText(method) }))}
            />
          )}
        </Field>
      )}
      {adding && <AddCard path={path} onClose={() => setAdding(false)} onDone={({ id }) => setCardId(id)} />}
    </>
  );
}
