import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { needsResponse } from '../../components/deadline.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Icon } from '../../components/icons.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { useAction } from '../../components/form.tsx';
import { money } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes as disputeTexts } from '../../texts/disputes.ts';
import { emails } from '../../texts/emails.ts';
import { orders } from '../../texts/orders.ts';
import type { Company, Dispute, Order, Receipt } from '../../types.ts';
import { useCapture } from './capture.tsx';
import { refundable, useRefund } from './refund.tsx';

const paid: readonly Order['status'][] = [
  ...refundable,
  'refunded',
  'refund_failed',
  'chargeback',
  'chargeback_accepted',
  'chargeback_dismissed',
];
/** A refund that failed did not return the money. */
const disputable: readonly Order['status'][] = [...refundable, 'refund_failed'];

interface Move {
  readonly label: string;
  readonly title: string;
  readonly text: string;
  readonly done: string;
  readonly amount: number;
  readonly danger?: boolean;
  /** Only for tests: in a menu of its own. */
  readonly sandbox?: boolean;
  readonly path: string;
  readonly body?: object;
}

/** The page of a dispute has its actions. Only a live dispute that no processor reports can also be closed here. */
const isDecidedHere = (disputes: readonly Dispute[] | undefined, { mode }: Company): boolean =>
  disputes !== undefined &&
  (disputes.length === 0 || (mode !== 'sandbox' && disputes.every(({ processor }) => processor === null)));

/** What can be done with the order, besides a refund. A failed order has its own panel. */
function movesOf(order: Order, left: number, company: Company, disputes: readonly Dispute[] | undefined): Move[] {
  const resolve = `/dashboard/orders/${order.id}/chargeback/resolve`;
  return [
    ...(order.status === 'refund_failed'
      ? [
          {
            label: orders.retry,
            title: orders.retryTitle,
            text: orders.retryRefund,
            done: orders.retryDone,
            amount: left,
            path: `/v1/orders/${order.id}/retry`,
          },
        ]
      : []),
    ...((order.status === 'succeeded' && order.captured_amount > 0) || order.capture_before !== null
      ? [
          {
            label: orders.void,
            title: order.capture_before === null ? orders.voidTitle : orders.releaseTitle,
            text: order.capture_before === null ? orders.voidText : orders.releaseText,
            done: orders.voidDone,
            amount: order.capture_before === null ? order.captured_amount : (order.authorized_amount ?? order.total),
            danger: true,
            path: `/v1/orders/${order.id}/void`,
            body: {},
          },
        ]
      : []),
    ...(disputable.includes(order.status) && order.captured_amount > 0 && company.mode === 'sandbox'
      ? [
          {
            label: orders.raise,
            title: orders.raise,
            text: orders.raiseText,
            done: orders.raiseDone,
            amount: left,
            danger: true,
            sandbox: true,
            path: `/v1/sandbox/orders/${order.id}/chargeback`,
          },
        ]
      : []),
    ...(order.status === 'chargeback' && isDecidedHere(disputes, company)
      ? [
          {
            label: orders.dismissDispute,
            title: orders.dismissDispute,
            text: orders.dismissText,
            done: orders.resolved,
            amount: left,
            path: resolve,
            body: { outcome: 'dismissed' },
          },
          {
            label: orders.acceptDispute,
            title: orders.acceptDispute,
            text: orders.acceptText,
            done: orders.resolved,
            amount: left,
            danger: true,
            path: resolve,
            body: { outcome: 'accepted' },
          },
        ]
      : []),
  ];
}

/** The available actions by order status. The API makes the final check. */
export function OrderActions({ order, disputes }: { order: Order; disputes: readonly Dispute[] | undefined }) {
  const { company } = useSignedIn();
  const reason = useCan('orders:write') ? undefined : common.notAllowed;
  const [move, setMove] = useState<Move>();
  const left = order.captured_amount + order.credit_applied - order.refunded_amount;
  const leftOnCard = order.captured_amount - (order.refunded_amount - order.credit_refunded);
  const refund = useRefund(order, left);
  const capture = useCapture(order);
  const receipt = useAction<string, Receipt>({
    send: (id) => call('GET', `/v1/orders/${id}/receipt`),
    onDone: ({ url }) => window.open(url, '_blank', 'noopener'),
    tells: true,
  });
  const toAnswer = disputes?.find(needsResponse);
  const moves = movesOf(order, leftOnCard, company, disputes);
  const tools = moves.filter(({ sandbox }) => sandbox);
  return (
    <>
      {toAnswer && reason === undefined && (
        <LinkButton to={`/disputes/${toAnswer.id}`} kind="primary">
          {disputeTexts.respond}
        </LinkButton>
      )}
      {refundable.includes(order.status) && left > 0 && (
        <Button reason={reason} onClick={refund.start}>
          {orders.refund}
        </Button>
      )}
      {order.capture_before !== null && (
        <Button kind="primary" reason={reason} onClick={capture.start}>
          {orders.capture}
        </Button>
      )}
      {paid.includes(order.status) && order.total > 0 && (
        <Button icon="download" busy={receipt.busy} onClick={() => void receipt.run(order.id)}>
          {emails.receipt}
        </Button>
      )}
      {moves
        .filter(({ sandbox }) => !sandbox)
        .map((entry) => (
          <Button key={entry.label} reason={reason} onClick={() => setMove(entry)}>
            {entry.label}
          </Button>
        ))}
      {tools.length > 0 && (
        <Menu
          trigger={
            <Button>
              {orders.sandboxTools}
              <Icon name="down" size={16} />
            </Button>
          }
        >
          {tools.map((entry) => (
            <MenuItem key={entry.label} reason={reason} onSelect={() => setMove(entry)}>
              {entry.label}
            </MenuItem>
          ))}
        </Menu>
      )}
      {refund.dialogs}
      {capture.dialogs}
      {move && (
        <Confirm<Order>
          title={move.title}
          amount={money(move.amount, order.currency)}
          confirm={move.label}
          danger={move.danger ?? false}
          done={move.done}
          send={(key) => call('POST', move.path, { key, ...(move.body ? { body: move.body } : {}) })}
          onClose={() => setMove(undefined)}
        >
          {move.text}
        </Confirm>
      )}
    </>
  );
}
