import { lookEveryMs, useGet } from '../data.ts';
import { useCan } from '../session.ts';
import { orders } from '../texts/orders.ts';
import type { WaitingCharge as Charge } from '../types.ts';
import { TextLink } from './button.tsx';
import { DateTime } from './date-time.tsx';

interface WaitingProps {
  readonly orderId: string;
  readonly isRenewal: boolean;
}

/** Shown while the charge of an order was not sent: what it waits for, until when, and what to do. */
export function WaitingCharge({ orderId, isRenewal }: WaitingProps) {
  const enabled = useCan('orders:read');
  const query = useGet<{ data: readonly Charge[] }>(
    '/dashboard/waiting_charges',
    { order_id: orderId },
    { enabled, everyMs: lookEveryMs },
  );
  const charge = query.data?.data[0];
  if (!charge) return null;
  const texts = orders.waiting;
  const cause = charge.waits_for ?? 'service';
  return (
    <div role="status" className="mb-5 rounded-[8px] bg-warn-soft px-4 py-3 text-warn">
      <p className="font-medium">
        {isRenewal ? texts.renewalTitle : texts.title} {cause !== 'processor' && texts.notCharged}
      </p>
      <p>
        {texts.causes[cause]} {charge.fails_at ? texts.repeat : texts.resent[cause]}
        {cause !== 'service' && (
          <>
            {' '}
            <TextLink to="/settings/processors">{texts.processors}</TextLink>
          </>
        )}
      </p>
      <p>
        {charge.fails_at ? texts.failsAt : texts.nextAttempt}{' '}
        <DateTime at={charge.fails_at ?? charge.next_attempt_at} real />
        {charge.fails_at ? `. ${texts.afterwards}` : isRenewal && `. ${texts.skip}`}
      </p>
    </div>
  );
}
