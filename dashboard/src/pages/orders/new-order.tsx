import { call } from '../../api.ts';
import { AddressField, addressDraft, addressOf } from '../../components/address.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmForm } from '../../components/confirm.tsx';
import { CouponField, useCoupon } from '../../components/coupon-field.tsx';
import { checkPayer, CustomerAndCard, noPayer } from '../../components/customer-card.tsx';
import { CheckField, TextField } from '../../components/fields.tsx';
import { FormError, PlainForm, useForm } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { checkLines, emptyLine, itemsOf, type Line, ProductLines } from '../../components/product-lines.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money, personName } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import { orders } from '../../texts/orders.ts';
import type { CustomerCredit, Order } from '../../types.ts';
import { cardText } from '../../components/add-card.tsx';
import { navigate } from '../../routing.tsx';

const initial = {
  payer: noPayer,
  lines: [emptyLine(0)] as readonly Line[],
  coupon_code: '',
  use_credit: false,
  description: '',
  shipping: addressDraft(null),
};

const currencyOf = (lines: readonly Line[]): string | undefined =>
  lines.find(({ product }) => product)?.product?.pricing.currency;

/** An order has one currency: that of its first product. */
function checkItems(lines: readonly Line[]): Record<string, string | undefined> {
  const currency = currencyOf(lines);
  const problems = checkLines(lines, 'items');
  for (const [index, { product }] of lines.entries()) {
    if (product && product.pricing.currency !== currency) {
      problems[`items[${index}].product_id`] = orders.otherCurrency(product.pricing.currency.toUpperCase());
    }
  }
  return problems;
}

/** What the customer has in this currency; 0 until it is known, and for members who may not see credit. */
function useBalance(customerId: string | undefined, currency: string): number {
  const enabled = useCan('credit:read') && customerId !== undefined;
  const { data } = useGet<CustomerCredit>(`/v1/customers/${customerId}/credit`, { limit: 1 }, { enabled });
  return data?.balances.find((balance) => balance.currency === currency)?.amount ?? 0;
}

/** A coupon or credit can pay for everything. */
function buttonText(amount: number, byCard: number, subtotal: number, currency: string): string {
  if (subtotal === 0) return orders.chargeSome;
  if (amount === 0) return orders.placeFree;
  return byCard === 0 ? orders.placeByCredit : orders.charge(money(byCard, currency));
}

export function NewOrderPage() {
  const form = useForm({
    initial,
    asks: true,
    check: ({ payer, lines }) => ({ ...checkPayer(payer), ...checkItems(lines) }),
    send: ({ payer, lines, coupon_code, use_credit, description, shipping }, key) => {
      const address = addressOf(shipping);
      const body = {
        customer_id: payer.customer?.id,
        payment_method_id: payer.card?.id,
        items: itemsOf(lines),
        ...(coupon_code.trim() ? { coupon_code: coupon_code.trim() } : {}),
        ...(use_credit ? { use_credit } : {}),
        ...(description.trim() ? { description: description.trim() } : {}),
        ...(address ? { shipping: address } : {}),
      };
      return call<Order>('POST', '/v1/orders', { body, key });
    },
    onDone: ({ id, status, failure_reason, failure_code }) => {
      const failed = status === 'failed';
      toast(failed ? orders.declined(failure_reason ?? failure_code ?? '') : orders.created, failed);
      void navigate({ to: `/orders/${id}` });
    },
  });
  const { payer, lines, coupon_code, use_credit } = form.draft;
  const currency = currencyOf(lines) ?? 'usd';
  const subtotal = lines.reduce(
    (sum, { product, quantity }) => sum + (product?.pricing.amount ?? 0) * (Number(quantity) || 0),
    0,
  );
  const complete = Object.values(checkItems(lines)).every((problem) => problem === undefined);
  const verdict = useCoupon(
    coupon_code,
    complete ? { items: itemsOf(lines), ...(payer.customer ? { customer_id: payer.customer.id } : {}) } : undefined,
  );
  const amount = verdict?.valid ? verdict.total_after_discount : subtotal;
  const balance = useBalance(payer.customer?.id, currency);
  const byCredit = use_credit ? Math.min(balance, amount) : 0;
  const submit = buttonText(amount, amount - byCredit, subtotal, currency);
  return (
    <Page title={orders.add} back={{ to: '/orders', label: orders.title }}>
      <PlainForm form={form} className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <div className="min-w-0">
          <Panel title={orders.customer}>
            <div className="flex flex-col gap-4">
              <CustomerAndCard form={form} />
              <AddressField
                form={form}
                name="shipping"
                label={customers.shippingAddress}
                known={payer.customer?.shipping_address}
              />
            </div>
          </Panel>
          <Panel title={orders.items}>
            <div className="flex flex-col gap-4">
              <ProductLines
                lines={lines}
                onChange={(next) => form.set('lines', next)}
                path="items"
                errorOf={form.errorOf}
                least={1}
              />
            </div>
          </Panel>
        </div>
        <Panel title={orders.total}>
          <div className="flex flex-col gap-4">
            <p className="text-3xl font-semibold tabular-nums">{money(amount, currency)}</p>
            <CouponField form={form} verdict={verdict} currency={currency} />
            {(balance > 0 || use_credit) && (
              <CheckField
                form={form}
                name="use_credit"
                label={orders.useCredit(money(balance, currency))}
                hint={orders.useCreditHint}
              />
            )}
            <TextField form={form} name="description" label={orders.description} placeholder={common.optional} />
            <FormError form={form} />
            <Button type="submit" kind="primary" disabled={subtotal === 0}>
              {submit}
            </Button>
          </div>
        </Panel>
      </PlainForm>
      {payer.customer && payer.card && (
        <ConfirmForm
          form={form}
          title={orders.confirmCharge}
          amount={money(amount - byCredit, currency)}
          confirm={submit}
        >
          {byCredit > 0 && <p>{orders.confirmCreditText(personName(payer.customer), money(byCredit, currency))}</p>}
          {(byCredit === 0 || byCredit < amount) &&
            orders.confirmChargeText(personName(payer.customer), cardText(payer.card))}
        </ConfirmForm>
      )}
    </Page>
  );
}
