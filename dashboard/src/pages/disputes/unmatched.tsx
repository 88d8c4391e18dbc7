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
  const query = useGet<UnmatchedChargebackList>('/dashboard/chargebacks', {}, { everyMs: lookEveryMs });
  const [decision, setDecision] = useState<Decision>();
  const found = query.data?.data ?? [];
  if (found.length === 0) return null;
  return (
    <Panel title={disputes.unmatched}>
      <p className="text-muted">{disputes.unmatchedLead}</p>
      <ul className="mt-3 flex flex-col gap-4">
        {found.map((one) => (
          <Row key={one.id} chargeback={one} onDecide={setDecision} />
        ))}
      </ul>
      {decision && (
        <Confirm
          title={decision.title}
          {...(decision.amount !== undefined && { amount: decision.amount })}
          confirm={decision.title}
          done={disputes.unmatchedDone}
          send={(key) => call('POST', decision.path, { key, body: decision.body })}
          onDone={() => void query.refetch()}
          onClose={() => setDecision(undefined)}
        >
          {decision.text}
        </Confirm>
      )}
    </Panel>
  );
}

function Row({ chargeback, onDecide }: { chargeback: Chargeback; onDecide: (decision: Decision) => void }) {
  const reason = useCan('orders:write') ? undefined : common.notAllowed;
  const { id, amount, card_first6, card_last4, reason_text, payments, processor, processor_chargeback_id } = chargeback;
  const { closed_as } = chargeback;
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
    </li>
  );
}
