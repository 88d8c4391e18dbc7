import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, wholeNumber } from '../../components/fields.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { Sums } from '../../components/sums.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { dateOnly, money } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import { renewalItems } from '../../texts/plan-changes.ts';
import type { Product, Subscription, UpcomingBills } from '../../types.ts';

type Item = Subscription['renewal_items'][number];

/** The products on the order of the next renewal, which can be added and removed until it is charged. */
export function RenewalItems({ subscription, reason }: { subscription: Subscription; reason: string | undefined }) {
  const { renewal_items: items, status, next_billing_at } = subscription;
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Item>();
  const canAdd = status === 'paused' || (status === 'active' && next_billing_at !== null);
  if (!canAdd && items.length === 0) return null;
  return (
    <Panel
      title={renewalItems.title}
      actions={
        canAdd && (
          <Button small icon="plus" reason={reason} onClick={() => setAdding(true)}>
            {renewalItems.add}
          </Button>
        )
      }
    >
      {items.length === 0 ? (
        <p className="py-2 text-muted">{renewalItems.none}</p>
      ) : (
        <Table
          label={renewalItems.title}
          rows={items}
          keyOf={({ id }) => id}
          columns={[
            { header: orders.product, cell: ({ name }) => name, wraps: true },
            { header: orders.quantity, cell: ({ quantity }) => quantity, end: true },
            { header: common.amount, cell: ({ total }) => money(total ?? 0, subscription.plan.currency), end: true },
            {
              header: common.actions,
              cell: (item) => (
                <IconButton
                  label={renewalItems.remove(item.name)}
                  icon="close"
                  disabled={reason !== undefined}
                  onClick={() => setRemoving(item)}
                />
              ),
              end: true,
            },
          ]}
        />
      )}
      {adding && <AddItem subscription={subscription} onClose={() => setAdding(false)} />}
      {removing && (
        <Confirm
          title={renewalItems.removeTitle(removing.name)}
          confirm={common.remove}
          done={renewalItems.removed}
          send={(key) => call('DELETE', `/v1/subscriptions/${subscription.id}/renewal_items/${removing.id}`, { key })}
          onClose={() => setRemoving(undefined)}
        >
          {renewalItems.removeText}
        </Confirm>
      )}
    </Panel>
  );
}

/** Shows what the renewal then costs before the button that adds the product. */
function AddItem({ subscription: { id, plan }, onClose }: { subscription: Subscription; onClose: () => void }) {
  const [product, setProduct] = useState<Product>();
  const [quantity, setQuantity] = useState('1');
  const next = useGet<UpcomingBills>(`/v1/subscriptions/${id}/upcoming`, { count: 1 }).data?.data[0];
  const action = useAction<{ product_id: string; quantity: number }, Subscription>({
    send: (body, key) => call('POST', `/v1/subscriptions/${id}/renewal_items`, { body, key }),
    onDone: () => {
      toast(renewalItems.added);
      onClose();
    },
  });
  const count = /^[1-9]\d*$/.test(quantity.trim()) ? Number(quantity) : undefined;
  const added = product && count && { product_id: product.id, quantity: count, total: product.pricing.amount * count };
  return (
    <Dialog title={renewalItems.add} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <Picker<Product>
          label={orders.product}
          path="/v1/products"
          query={{ active: true, currency: plan.currency }}
          textOf={({ name }) => name}
          detailOf={({ pricing }) => money(pricing.amount, pricing.currency)}
          value={product}
          onChange={setProduct}
        />
        <Field label={orders.quantity} error={count === undefined ? orders.wrongQuantity : undefined}>
          {(props) => (
            <input
              {...props}
              {...wholeNumber}
              className="control w-28"
              value={quantity}
              onChange={({ target }) => setQuantity(target.value)}
            />
          )}
        </Field>
        <p className="text-sm text-muted">{renewalItems.hint}</p>
        <div aria-live="polite">
          {added && (
            <Sums
              sums={[
                [renewalItems.price, money(added.total, plan.currency)],
                next !== undefined && [
                  renewalItems.next(dateOnly(next.date)),
                  money(next.total + added.total, plan.currency),
                ],
              ]}
            />
          )}
        </div>
        {action.error && <ErrorNote error={action.error} />}
      </div>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose} disabled={action.busy}>
          {common.cancel}
        </Button>
        <Button
          kind="primary"
          busy={action.busy}
          disabled={!added}
          onClick={() => added && void action.run({ product_id: added.product_id, quantity: added.quantity })}
        >
          {renewalItems.add}
        </Button>
      </div>
    </Dialog>
  );
}
