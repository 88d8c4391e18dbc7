import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Panel } from '../../components/page.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import type { UnmatchedChargebackList } from '../../types.ts';
import { type Payment, Payments, PaymentSearch } from './unmatched-payments.tsx';

type Chargeback = UnmatchedChargebackList['data'][number];

interface Decision {
  readonly title: string;
  readonly text: string;
  readonly path: string;
  readonly body: object;
  readonly amount?: string;
}

/** Disputes of which the processor does not say the payment, and which fit none or several. */
export function UnmatchedDisputes() {
  const open = useGet<UnmatchedChargebackList>('/dashboard/chargebacks', {}, { everyMs: lookEveryMs });
  const dismissed = useGet<UnmatchedChargebackList>('/dashboard/chargebacks', { state: 'dismissed' });
  const [decision, setDecision] = useState<Decision>();
  const found = open.data?.data ?? [];
  const earlier = dismissed.data?.data ?? [];
  if (found.length === 0 && earlier.length === 0) return null;
  return (
    <Panel title={found.length > 0 ? disputes.unmatched : disputes.withoutPayment}>
      {found.length > 0 && <p className="text-muted">{disputes.unmatchedLead}</p>}
      <Rows chargebacks={found} onDecide={setDecision} />
      {earlier.length > 0 && (
        <details>
          <summary className="cursor-pointer text-muted">{disputes.dismissedDisputes(earlier.length)}</summary>
          <p className="mt-2 text-muted">{disputes.dismissedLead}</p>
          <Rows chargebacks={earlier} onDecide={setDecision} />
        </details>
      )}
      {decision && (
        <Confirm
          title={decision.title}
          {...(decision.amount !== undefined && { amount: decision.amount })}
          confirm={decision.title}
          done={disputes.unmatchedDone}
          send={(key) => call('POST', decision.path, { key, body: decision.body })}
          onDone={() => void Promise.all([open.refetch(), dismissed.refetch()])}
          onClose={() => setDecision(undefined)}
        >
          {decision.text}
        </Confirm>
      )}
    </Panel>
  );
}

interface Deciding {
  readonly onDecide: (decision: Decision) => void;
}

function Rows({ chargebacks, onDecide }: Deciding & { readonly chargebacks: readonly Chargeback[] }) {
  if (chargebacks.length === 0) return null;
  return (
    <ul className="my-3 flex flex-col gap-4">
      {chargebacks.map((one) => (
        <Row key={one.id} chargeback={one} onDecide={onDecide} />
      ))}
    </ul>
  );
}

function Row({ chargeback, onDecide }: Deciding & { readonly chargeback: Chargeback }) {
  const reason = useCan('orders:write') ? undefined : common.notAllowed;
  const { id, amount, card_first6, card_last4, reason_text, payments, processor, processor_chargeback_id } = chargeback;
  const { closed_as, dismissed_at } = chargeback;
  const dismiss = closed_as ? disputes.keepClosed : disputes.dismissUnmatched;
  const facts = [amount, card_last4 && `${card_first6 ?? ''}…${card_last4}`, chargeback.date, reason_text].filter(
    Boolean,
  );
  const path = `/dashboard/chargebacks/${id}`;
  const match = closed_as ? disputes.reopen : disputes.matchPayment;
  function choose(payment: Payment): void {
    onDecide({
      title: match,
      text: closed_as ? disputes.reopenText : disputes.matchPaymentText,
      amount: money(payment.amount, payment.currency),
      path: `${path}/match`,
      body: { transaction_id: payment.transaction_id },
    });
  }
  return (
    <li className="flex flex-col gap-2">
      <span className="font-medium">{facts.join(' · ')}</span>
      <span className="text-sm text-muted">
        {processor} · {processor_chargeback_id} · <DateTime at={chargeback.created_at} real />
        {dismissed_at !== null && (
          <>
            {' '}
            · {disputes.dismissedAt} <DateTime at={dismissed_at} real />
          </>
        )}
      </span>
      {closed_as && <span className="text-sm">{disputes.reportedAgain(disputes.closedAs[closed_as])}</span>}
      {payments.length === 0 && <span className="text-sm">{disputes.unmatchedNone}</span>}
      <Payments payments={payments} label={match} reason={reason} onChoose={choose} />
      {!closed_as && (
        <PaymentSearch
          path={`${path}/payments`}
          label={match}
          reason={reason}
          known={payments.map(({ transaction_id }) => transaction_id)}
          onChoose={choose}
        />
      )}
      {dismissed_at === null && (
        <span>
          <Button
            reason={reason}
            onClick={() =>
              onDecide({
                title: dismiss,
                text: closed_as ? disputes.keepClosedText : disputes.dismissUnmatchedText,
                path: `${path}/dismiss`,
                body: {},
              })
            }
          >
            {dismiss}
          </Button>
        </span>
      )}
    </li>
  );
}
