import { useState } from 'react';
import { amountText, readAmount } from '../../amounts.ts';
import { call } from '../../api.ts';
import { Amount, ConfirmForm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { MoneyField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { money } from '../../format.ts';
import { amounts } from '../../texts/amounts.ts';
import { orders } from '../../texts/orders.ts';
import type { Order } from '../../types.ts';

/** The capture of a payment, in two steps: enter the amount, then confirm exactly that amount. */
export function useCapture(order: Order) {
  const [open, setOpen] = useState(false);
  const held = order.authorized_amount ?? order.total;
  const heldText = money(held, order.currency);
  // The form and its idempotency key outlive the dialogs: if the response is lost, it is the same capture.
  const form = useForm({
    initial: { amount: '' },
    asks: true,
    forgettable: true,
    check: (draft) => {
      const { amount, problem } = readAmount(draft.amount, order.currency);
      if (amount === undefined) return { amount: problem };
      if (amount === 0) return { amount: amounts.tooSmall };
      return { amount: amount > held ? orders.captureTooMuch(heldText) : undefined };
    },
    send: (draft, key) => {
      const body = { amount: readAmount(draft.amount, order.currency).amount };
      return call<Order>('POST', `/v1/orders/${order.id}/capture`, { body, key });
    },
    onDone: ({ status }) => {
      toast(status === 'succeeded' ? orders.captureDone : orders.captureRefused);
      setOpen(false);
    },
  });
  const text = money(readAmount(form.draft.amount, order.currency).amount ?? 0, order.currency);
  const close = () => setOpen(false);
  return {
    start: () => {
      form.set('amount', amountText(held, order.currency));
      setOpen(true);
    },
    dialogs: open && (
      <>
        {!form.asking && (
          <Dialog title={orders.captureTitle} onClose={close}>
            <Form form={form} submit={orders.reviewCapture} onCancel={close}>
              <MoneyField
                form={form}
                name="amount"
                label={orders.captureAmount}
                hint={orders.captureHint(heldText)}
                currency={order.currency}
              />
            </Form>
          </Dialog>
        )}
        <ConfirmForm form={form} title={orders.captureTitle} confirm={orders.captureButton(text)}>
          <Amount text={text} label={orders.capture} />
          <p className="mt-3">{orders.captureText}</p>
        </ConfirmForm>
      </>
    ),
  };
}
