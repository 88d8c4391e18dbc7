import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { money } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import type { Company, DisputeDetail } from '../../types.ts';

interface Move {
  readonly label: string;
  readonly title: string;
  readonly text: string;
  readonly done: string;
  readonly danger: boolean;
  readonly path: string;
  readonly body: object;
}

/** Whether no processor reports the decision. In the sandbox, evidence comes first. */
export function isDecidedByHand({ processor, status }: DisputeDetail, { mode }: Company): boolean {
  return processor === null && (status === 'under_review' || (mode !== 'sandbox' && status === 'needs_response'));
}

/** Accepts the dispute. Where no processor reports the decision, the merchant records it. */
export function DisputeActions({ dispute }: { dispute: DisputeDetail }) {
  const { company } = useSignedIn();
  const reason = useCan('orders:write') ? undefined : common.notAllowed;
  const [move, setMove] = useState<Move>();
  const decides = isDecidedByHand(dispute, company);
  const resolve = `/dashboard/orders/${dispute.order_id}/chargeback/resolve`;
  const moves: Move[] = [
    ...(decides
      ? [
          {
            label: disputes.markWon,
            title: disputes.markWon,
            text: disputes.markWonText,
            done: disputes.decided,
            danger: false,
            path: resolve,
            body: { outcome: 'dismissed' },
          },
          {
            label: disputes.markLost,
            title: disputes.markLost,
            text: disputes.markLostText,
            done: disputes.decided,
            danger: true,
            path: resolve,
            body: { outcome: 'lost' },
          },
        ]
      : []),
    // An inquiry took no money, so there is nothing to accept.
    ...(dispute.status === 'needs_response'
      ? [
          {
            label: disputes.accept,
            title: disputes.acceptTitle,
            text: disputes.acceptText,
            done: disputes.acceptedDone,
            danger: true,
            path: `/dashboard/disputes/${dispute.id}/accept`,
            body: {},
          },
        ]
      : []),
  ];
  return (
    <>
      {moves.map((entry) => (
        <Button key={entry.label} reason={reason} onClick={() => setMove(entry)}>
          {entry.label}
        </Button>
      ))}
      {move && (
        <Confirm
          title={move.title}
          amount={money(dispute.amount, dispute.currency)}
          confirm={move.label}
          danger={move.danger}
          done={move.done}
          send={(key) => call('POST', move.path, { key, body: move.body })}
          onClose={() => setMove(undefined)}
        >
          {move.text}
        </Confirm>
      )}
    </>
  );
}
