import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CustomerAndCard, type Payer } from '../../components/customer-card.tsx';
import { Field } from '../../components/fields.tsx';
import { focusMistake } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Picker } from '../../components/picker.tsx';
import { toast } from '../../components/toasts.tsx';
import { money, personName } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import type { Order, Product } from '../../types.ts';
import { cardText } from '../customers/cards.tsx';

interface Line {
  readonly key: number;
  readonly product: Product | undefined;
  readonly quantity: string;
}

const counts = (quantity: string): boolean => /^[1-9]\d*$/.test(quantity.trim());
const emptyLine = (key: number): Line => ({ key, product: undefined, quantity: '1' });

export function NewOrderPage() {
  const navigate = useNavigate();
  const [payer, setPayer] = useState<Payer>({ customer: undefined, card: undefined });
  const [lines, setLines] = useState<readonly Line[]>([emptyLine(0)]);
  const [coupon, setCoupon] = useState('');
  const [description, setDescription] = useState('');
  const [checked, setChecked] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const change = (key: number, changes: Partial<Line>) =>
    setLines(lines.map((line) => (line.key === key ? { ...line, ...changes } : line)));
  const chosen = lines.filter(({ product }) => product);
  const currency = chosen[0]?.product?.pricing.currency ?? 'usd';
  const total = chosen.reduce(
    (sum, { product, quantity }) => sum + (product?.pricing.amount ?? 0) * (Number(quantity) || 0),
    0,
  );
  const ready =
    payer.customer && payer.card && lines.every(({ product, quantity }) => product !== undefined && counts(quantity));
  const body = {
    customer_id: payer.customer?.id,
    payment_method_id: payer.card?.id,
    items: chosen.map(({ product, quantity }) => ({ product_id: product?.id, quantity: Number(quantity) })),
    ...(coupon.trim() ? { coupon_code: coupon.trim() } : {}),
    ...(description.trim() ? { description: description.trim() } : {}),
  };
  return (
    <Page title={orders.add} back={{ to: '/orders', label: orders.title }}>
      <form
        noValidate
        className="grid items-start gap-x-5 lg:grid-cols-[3fr_2fr]"
        onSubmit={(event) => {
          event.preventDefault();
          setChecked(true);
          focusMistake(event.currentTarget);
          if (ready) setConfirming(true);
        }}
      >
        <div className="min-w-0">
          <Panel title={orders.customer}>
            <div className="flex flex-col gap-4">
              <CustomerAndCard
                onChange={setPayer}
                errors={{ customer: checked && !payer.customer ? orders.chooseCustomer : undefined }}
              />
            </div>
          </Panel>
          <Panel title={orders.items}>
            <div className="flex flex-col gap-4">
              {lines.map((line, index) => (
                <div key={line.key} className="flex items-start gap-3">
                  <div className="min-w-0 grow">
                    <Picker<Product>
                      label={orders.product}
                      path="/v1/products"
                      query={{ active: true }}
                      textOf={({ name }) => name}
                      detailOf={({ pricing }) => money(pricing.amount, pricing.currency)}
                      value={line.product}
                      error={checked && !line.product ? orders.chooseProduct : undefined}
                      onChange={(product) => change(line.key, { product })}
                    />
                  </div>
                  <div className="w-24 shrink-0">
                    <Field
                      label={orders.quantity}
                      error={checked && !counts(line.quantity) ? orders.wrongQuantity : undefined}
                    >
                      {(attributes) => (
                        <input
                          {...attributes}
                          type="number"
                          min={1}
                          className="control"
                          value={line.quantity}
                          onChange={(event) => change(line.key, { quantity: event.target.value })}
                        />
                      )}
                    </Field>
                  </div>
                  {index > 0 && (
                    <IconButton
                      className="mt-6"
                      label={orders.removeItem}
                      icon="close"
                      onClick={() => setLines(lines.filter(({ key }) => key !== line.key))}
                    />
                  )}
                </div>
              ))}
              <div>
                <Button
                  small
                  icon="plus"
                  onClick={() => setLines([...lines, emptyLine(1 + Math.max(...lines.map(({ key }) => key)))])}
                >
                  {orders.addItem}
                </Button>
              </div>
            </div>
          </Panel>
        </div>
        <Panel title={orders.total}>
          <div className="flex flex-col gap-4">
            <p className="text-3xl font-semibold tabular-nums">{money(total, currency)}</p>
            <Field label={orders.coupon} hint={common.optional}>
              {(attributes) => (
                <input
                  {...attributes}
                  className="control"
                  value={coupon}
                  onChange={(event) => setCoupon(event.target.value)}
                />
              )}
            </Field>
            <Field label={orders.description} hint={common.optional}>
              {(attributes) => (
                <input
                  {...attributes}
                  className="control"
                  value={description}
                  onChange={(event) => setDescription(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" kind="primary">
              {orders.charge(money(total, currency))}
            </Button>
          </div>
        </Panel>
      </form>
      {confirming && payer.customer && payer.card && (
        <Confirm<Order>
          title={orders.confirmCharge}
          amount={money(total, currency)}
          confirm={orders.chargeSome}
          send={(key) => call('POST', '/v1/orders', { body, key })}
          onDone={(order) => {
            toast(
              order.status === 'failed'
                ? orders.declined(order.failure_reason ?? order.failure_code ?? '')
                : orders.created,
              order.status === 'failed',
            );
            void navigate({ to: `/orders/${order.id}` });
          }}
          onClose={() => setConfirming(false)}
        >
          {orders.confirmChargeText(personName(payer.customer), cardText(payer.card))}
        </Confirm>
      )}
    </Page>
  );
}
