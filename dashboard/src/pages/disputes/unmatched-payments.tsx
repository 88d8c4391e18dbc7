import { useDeferredValue, useState } from 'react';
import { Button, TextLink } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Field } from '../../components/fields.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { disputes } from '../../texts/disputes.ts';
import type { ChargebackPayments } from '../../types.ts';

export type Payment = ChargebackPayments['data'][number];

interface PaymentsProps {
  readonly payments: readonly Payment[];
  readonly label: string;
  /** Why the member cannot choose. */
  readonly reason: string | undefined;
  readonly onChoose: (payment: Payment) => void;
}

/** Payments that a dispute may be about, each with a button that chooses it. */
export function Payments({ payments, label, reason, onChoose }: PaymentsProps) {
  return payments.map((payment) => (
    <div key={payment.transaction_id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <TextLink to={`/orders/${payment.order_id}`}>{payment.order_number}</TextLink>
      <span>{money(payment.amount, payment.currency)}</span>
      {payment.card_last4 && <span className="text-muted">•••• {payment.card_last4}</span>}
      <span className="text-muted">
        <DateTime at={payment.created_at} />
      </span>
      <Button reason={reason} onClick={() => onChoose(payment)}>
        {label}
      </Button>
    </div>
  ));
}

interface SearchProps extends Omit<PaymentsProps, 'payments'> {
  readonly path: string;
  /** The IDs of the payments that are shown already. */
  readonly known: readonly string[];
}

/** Finds a payment by the number of its order or by its amount. */
export function PaymentSearch({ path, known, ...rest }: SearchProps) {
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim());
  const query = useGet<ChargebackPayments>(path, { q: wanted }, { enabled: wanted !== '', keep: true });
  const found = wanted === '' ? undefined : query.data?.data;
  return (
    <>
      <Field label={disputes.searchPayments}>
        {(attributes) => (
          <input
            {...attributes}
            type="search"
            className="control sm:max-w-96"
            placeholder={disputes.searchPaymentsHint}
            autoComplete="off"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
      {found?.length === 0 && <span className="text-sm">{disputes.searchedNone}</span>}
      {found && <Payments payments={found.filter(({ transaction_id }) => !known.includes(transaction_id))} {...rest} />}
    </>
  );
}
