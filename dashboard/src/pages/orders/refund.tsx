import { useState } from 'react';
import { call } from '../../api.ts';
import { Field, Select } from '../../components/fields.tsx';
import { useAction } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useOpening } from '../../data.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import type { Order } from '../../types.ts';
import { useAmountForm } from './amount-form.tsx';

export const refundable: readonly Order['status'][] = ['succeeded', 'partially_refunded'];

export function useRefund(order: Order, left: number) {
  // Not part of the form: another reason for the same refund must not make it another refund.
  const [reason, setReason] = useState('');
  const note = useAction<string, unknown>({
    send: (text, key) => call('POST', `/dashboard/orders/${order.id}/notes`, { body: { text }, key }),
    tells: true,
  });
  const form = useAmountForm({
    order,
    path: 'refund',
    most: left,
    danger: true,
    texts: {
      title: orders.refundTitle,
      label: orders.refundAmount,
      hint: orders.refundHint,
      tooMuch: orders.refundTooMuch,
      review: orders.reviewRefund,
      act: orders.refund,
      button: orders.refundButton,
      warning: orders.refundText,
    },
    children: <Reason value={reason} onChange={setReason} />,
    onDone: (_order, amount) => {
      toast(orders.refundDone);
      // The reason is for the team, so it is a note. The refund stands without it.
      if (reason) void note.run(orders.refundNote(amount, reason));
    },
  });
  useOpening('refund', () => form.open(refundable.includes(order.status)));
  return form;
}

function Reason({ value, onChange }: { value: string; onChange: (reason: string) => void }) {
  const choices = orders.refundReasons.map((reason) => ({ value: reason, label: reason }));
  return (
    <Field label={orders.refundReason} hint={orders.refundReasonHint}>
      {(attributes) => (
        <Select
          {...attributes}
          choices={[{ value: '', label: common.none }, ...choices]}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
