import { money, personName, words } from '../format.ts';
import type { Customer, Order } from '../types.ts';
import { Badge } from './badge.tsx';
import { DateTime } from './date-time.tsx';
import { OnPhone } from './table.tsx';

/** On a phone, shows the customer and the date below the amount instead of in their own columns. */

type Person = Pick<Customer, 'first_name' | 'last_name' | 'email'>;

interface AmountProps {
  readonly amount: number;
  readonly currency: string;
  readonly customer?: Person | undefined;
  readonly type?: string;
}

export function AmountCell(props: AmountProps) {
  return (
    <>
      {money(props.amount, props.currency)}
      <OnPhone>{[props.type, props.customer && personName(props.customer)].filter(Boolean).join(' · ')}</OnPhone>
    </>
  );
}

/** A pending order whose funds are held waits for the merchant, and not for the processor. */
export const statusOf = ({ status, capture_before }: Pick<Order, 'status' | 'capture_before'>): string =>
  status === 'pending' && capture_before !== null ? 'authorized' : status;

/** A failed payment says why. */
export function StatusCell({ status, reason, at }: { status: string; reason?: string | null; at: string }) {
  return (
    <>
      <Badge
        status={status}
        {...(reason && status === 'failed' ? { label: `${words(status)} · ${words(reason)}` } : {})}
      />
      <OnPhone>
        <DateTime at={at} />
      </OnPhone>
    </>
  );
}

/** For people, and the code for programs below. */
export function FailureReason({ of }: { of: { failure_reason: string | null; failure_code: string | null } }) {
  return (
    <>
      {of.failure_reason}
      <span className="block font-mono text-xs text-muted">{of.failure_code}</span>
    </>
  );
}

/** The name, and the email in the same line. */
export function CustomerCell({ customer }: { customer: Person | undefined }) {
  if (!customer) return '—';
  return (
    <span className="flex max-w-96 items-baseline gap-2">
      <span className="max-w-44 shrink-0 truncate">{personName(customer)}</span>
      <span className="min-w-0 truncate text-muted">{customer.email}</span>
    </span>
  );
}
