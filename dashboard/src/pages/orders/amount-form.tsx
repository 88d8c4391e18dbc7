import { type ReactNode, useState } from 'react';
import { amountText, readAmount } from '../../amounts.ts';
import { call } from '../../api.ts';
import { Amount, ConfirmForm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { MoneyField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { money } from '../../format.ts';
import { amounts } from '../../texts/amounts.ts';
import type { Order } from '../../types.ts';

interface AmountOf {
  readonly order: Order;
  /** The last part of the path: `POST /v1/orders/{id}/{path}`. */
  readonly path: 'refund' | 'capture';
  readonly most: number;
  readonly danger?: boolean;
  readonly texts: {
    readonly title: string;
    readonly label: string;
    readonly hint: (most: string) => string;
    readonly tooMuch: (most: string) => string;
    readonly review: string;
    /** What is done with the amount. */
    readonly act: string;
    readonly button: (amount: string) => string;
    readonly warning: string;
  };
  readonly children?: ReactNode;
  /** With the amount as it was confirmed. */
  readonly onDone: (order: Order, amount: string) => void;
}

/** A part of the money of an order, in two steps: enter the amount, then confirm exactly that amount. */
export function useAmountForm({ order, path, most, danger, texts, children, onDone }: AmountOf) {
  const [open, setOpen] = useState(false);
  const mostText = money(most, order.currency);
  const amountOf = (draft: { readonly amount: string }) => readAmount(draft.amount, order.currency);
  // The form and its idempotency key outlive the dialogs. If the response is lost and the dialog is opened again, it is the same request.
  const form = useForm({
    initial: { amount: '' },
    asks: true,
    forgettable: true,
    check: (draft) => {
      const { amount, problem } = amountOf(draft);
      if (amount === undefined) return { amount: problem };
      if (amount === 0) return { amount: amounts.tooSmall };
      return { amount: amount > most ? texts.tooMuch(mostText) : undefined };
    },
    send: (draft, key) =>
      call<Order>('POST', `/v1/orders/${order.id}/${path}`, { body: { amount: amountOf(draft).amount }, key }),
    onDone: (changed, draft) => {
      setOpen(false);
      onDone(changed, money(amountOf(draft).amount ?? 0, order.currency));
    },
  });
  const text = money(amountOf(form.draft).amount ?? 0, order.currency);
  const close = () => setOpen(false);
  return {
    start: () => {
      form.set('amount', amountText(most, order.currency));
      setOpen(true);
    },
    open: setOpen,
    dialogs: open && (
      <>
        {!form.asking && (
          <Dialog title={texts.title} onClose={close}>
            <Form form={form} submit={texts.review} onCancel={close}>
              <MoneyField
                form={form}
                name="amount"
                label={texts.label}
                hint={texts.hint(mostText)}
                currency={order.currency}
              />
              {children}
            </Form>
          </Dialog>
        )}
        <ConfirmForm form={form} title={texts.title} confirm={texts.button(text)} {...(danger && { danger })}>
          <Amount text={text} label={texts.act} />
          <p className="mt-3">{texts.warning}</p>
        </ConfirmForm>
      </>
    ),
  };
}
