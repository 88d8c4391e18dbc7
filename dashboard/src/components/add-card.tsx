import { useRef } from 'react';
import { ApiError, call } from '../api.ts';
import { words } from '../format.ts';
import { useSignedIn } from '../session.ts';
import { customers } from '../texts/customers.ts';
import type { PaymentMethod } from '../types.ts';
import { CardFields, type MountedFields } from './card-fields.tsx';
import { Dialog } from './dialog.tsx';
import { CheckField } from './fields.tsx';
import { Form, useForm } from './form.tsx';
import { toast } from './toasts.tsx';

export const cardText = ({ card }: PaymentMethod): string => `${words(card.brand)} •••• ${card.last4}`;

interface AddCardProps {
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone?: (method: PaymentMethod) => void;
}

export function AddCard({ path, onClose, onDone }: AddCardProps) {
  const { company } = useSignedIn();
  const fields = useRef<MountedFields>(null);
  const form = useForm({
    initial: { set_as_default: true, update_subscriptions: false },
    send: async (options, key) => {
      const token = await fields.current?.createToken().catch((error: Error) => {
        throw new ApiError(400, { message: error.message, code: 'card_fields' }, '');
      });
      if (!token) throw new ApiError(400, { message: customers.fieldsNotLoaded, code: 'card_fields' }, '');
      return call<PaymentMethod>('POST', path, { body: { card_token: token.id, ...options }, key });
    },
    onDone: (method) => {
      toast(customers.cardAdded);
      onClose();
      onDone?.(method);
    },
  });
  return (
    <Dialog title={customers.addCard} onClose={onClose}>
      <Form form={form} submit={customers.saveCard} onCancel={onClose}>
        <p className="text-sm text-muted">
          {customers.cardLead} {company.mode !== 'live' && customers.cardTests[company.mode]}
        </p>
        <CardFields fields={fields} />
        <CheckField form={form} name="set_as_default" label={customers.setDefault} />
        <CheckField
          form={form}
          name="update_subscriptions"
          label={customers.moveSubscriptions}
          hint={customers.moveSubscriptionsHint}
        />
      </Form>
    </Dialog>
  );
}
