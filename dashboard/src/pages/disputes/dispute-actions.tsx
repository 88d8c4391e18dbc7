import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import type { DisputeDetail } from '../../types.ts';

interface Move {
  readonly label: string;
  readonly title: string;
  readonly text: string;
  readonly done: string;
  readonly danger: boolean;
  readonly path: string;
  readonly body: object;
}

/** Accepts the dispute. Where no processor reports the decision, the merchant records it. */
export function DisputeActions({ dispute }: { dispute: DisputeDetail }) {
  const reason = useCan('orders:write') ? undefined : common.notAllowed;
  const [move, setMove] = useState<Move>();
  const resolve = `/dashboard/disputes/${dispute.id}/resolve`;
  const moves: Move[] = [
    ...(dispute.answer.is_decided_by_hand
      ? [
          {
            label: disputes.markWon,
            title: disputes.markWon,
            text: disputes.markWonText,
            done: disputes.decided,
            danger: false,
            path: resolve,
            body: { outcome: 'won' },
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
            text: dispute.answer.is_decided_by_hand ? disputes.acceptByHandText : disputes.acceptText,
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
