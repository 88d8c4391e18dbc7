import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Amount, Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Load } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { bulk } from '../../texts/bulk.ts';
import { common } from '../../texts/common.ts';
import { orders as texts } from '../../texts/orders.ts';
import type { BulkRefund, Order } from '../../types.ts';

const ordersMax = 500;
const pollMs = 1_000;

const leftOf = ({ status, total, refunded_amount }: Order): number =>
  status === 'succeeded' || status === 'partially_refunded' ? total - refunded_amount : 0;

interface Sum {
  readonly currency: string;
  readonly amount: number;
}

/** Amounts of different currencies are never added up. */
function sumsOf(orders: readonly Order[]): Sum[] {
  const byCurrency = Map.groupBy(orders, ({ currency }) => currency);
  return [...byCurrency].map(([currency, ones]) => ({
    currency,
    amount: ones.reduce((sum, order) => sum + leftOf(order), 0),
  }));
}

const sumText = (sums: readonly Sum[]): string =>
  sums.map(({ currency, amount }) => money(amount, currency)).join(bulk.and);

/** Refunds the remaining balance of the selected orders. The exact sums are confirmed, and sent with the request. */
export function BulkRefundButton({ selected, onDone }: { selected: readonly Order[]; onDone: () => void }) {
  const [asking, setAsking] = useState(false);
  const [started, setStarted] = useState<string>();
  const orders = selected.filter((order) => leftOf(order) > 0);
  const sums = sumsOf(orders);
  const tooMany = orders.length > ordersMax ? bulk.tooMany(ordersMax) : undefined;
  const body = { orders: orders.map((order) => ({ order_id: order.id, amount: leftOf(order) })), totals: sums };
  const close = () => {
    setStarted(undefined);
    onDone();
  };
  return (
    <>
      <Button small reason={orders.length === 0 ? bulk.nothingToRefund : tooMany} onClick={() => setAsking(true)}>
        {bulk.refund}
      </Button>
      {asking && (
        <Confirm<BulkRefund>
          title={bulk.refundTitle}
          confirm={bulk.refundButton(sumText(sums))}
          danger
          send={(key) => call('POST', '/dashboard/bulk_refunds', { body, key })}
          onDone={({ id }) => setStarted(id)}
          onClose={() => setAsking(false)}
        >
          <p>{bulk.refundText(orders.length)}</p>
          {orders.length < selected.length && (
            <p className="mt-2 text-sm text-muted">{bulk.refundSkipped(selected.length - orders.length)}</p>
          )}
          <div className="mt-4 flex flex-col gap-2">
            {sums.map(({ currency, amount }) => (
              <Amount key={currency} text={money(amount, currency)} label={currency.toUpperCase()} />
            ))}
          </div>
        </Confirm>
      )}
      {started && <Progress id={started} onClose={close} />}
    </>
  );
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const [running, setRunning] = useState(true);
  const query = useGet<BulkRefund>(`/dashboard/bulk_refunds/${id}`, {}, running ? { everyMs: pollMs } : {});
  if (running && query.data?.status === 'completed') setRunning(false);
  return (
    <Dialog title={bulk.refundTitle} wide onClose={onClose}>
      <Load query={query} lines={4}>
        {({ orders, status, totals }) => (
          <>
            <div aria-live="polite" className="mb-4">
              <p>
                {status === 'completed'
                  ? bulk.refundFinished
                  : bulk.refundProgress(orders.filter((order) => order.status !== 'waiting').length, orders.length)}
              </p>
              {totals.map(({ currency, refunded, refused }) => (
                <p key={currency} className="text-sm text-muted">
                  {bulk.refundedSum(money(refunded, currency))}{' '}
                  {refused > 0 && bulk.refusedSum(money(refused, currency))}
                </p>
              ))}
              {status !== 'completed' && <p className="text-sm text-muted">{bulk.canClose}</p>}
            </div>
            <Table
              label={bulk.refundTitle}
              rows={orders}
              keyOf={({ order_id }) => order_id}
              columns={[
                {
                  header: texts.number,
                  cell: ({ order_number }) => <span className="font-mono text-[13px]">{order_number}</span>,
                },
                { header: common.amount, cell: ({ amount, currency }) => money(amount, currency), end: true },
                {
                  header: bulk.result,
                  cell: ({ status: state, reason }) => (
                    <>
                      <Badge
                        status={state}
                        tone={({ waiting: 'info', refunded: 'good', refused: 'bad' } as const)[state]}
                      />
                      {reason && <span className="mt-0.5 block text-sm text-muted">{reason}</span>}
                    </>
                  ),
                  wraps: true,
                },
              ]}
            />
            <div className="mt-4 flex justify-end">
              <Button onClick={onClose}>{common.close}</Button>
            </div>
          </>
        )}
      </Load>
    </Dialog>
  );
}
