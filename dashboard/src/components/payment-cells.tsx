import { money } from '../format.ts';
import type { Customer } from '../types.ts';
import { Badge } from './badge.tsx';
import { DateTime } from './date-time.tsx';
import { OnPhone } from './table.tsx';

/** On a phone, shows the customer and the date below the amount instead of in their own columns. */

export function AmountCell(props: { amount: number; currency: string; customer?: Customer | undefined }) {
  return (
    <>
      {money(props.amount, props.currency)}
      <OnPhone>{props.customer?.email}</OnPhone>
    </>
  );
}

export function StatusCell({ status, at }: { status: string; at: string }) {
  return (
    <>
      <Badge status={status} />
      <OnPhone>
        <DateTime at={at} />
      </OnPhone>
    </>
  );
}
