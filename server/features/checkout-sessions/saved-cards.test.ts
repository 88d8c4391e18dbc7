import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openCheckout } from '../../../tests/support/checkout.ts';
import { assertRefused, openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { somePlan } from '../../../tests/support/subscriptions.ts';

/** Whether a card that is entered on a checkout page is saved. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_CAPTURE: 'off' } });
  shop = await openShop(service);
});
after(() => service.stop());

interface Paid {
  readonly customer: Reply['body'];
  readonly order: Reply['body'];
}

async function pay(sold: object, choice: object): Promise<Paid> {
  const checkout = await openCheckout(service, sold);
  const paid = await checkout.pay(choice);
  assert.equal(paid.body.status, 'completed', paid.text);
  const made = await checkout.order();
  const { body: customer } = await service.call('GET', `/v1/customers/${made.customer_id}?expand=payment_methods`);
  return { customer, order: made };
}

const goods = () => ({ mode: 'payment', items: [{ product_id: shop.productId, quantity: 1 }] });

describe('a new card on a checkout page', () => {
  it('is saved if the customer agrees, and becomes the default of a new customer', async () => {
    const { customer, order: made } = await pay(goods(), { save_card: true });
    assert.equal(customer.default_payment_method_id, made.payment_method.id);
    assert.equal(customer.payment_methods.length, 1);
  });

  it('is not saved otherwise: it is not offered, and pays nothing but its order', async () => {
    for (const choice of [{ save_card: false }, {}]) {
      const { customer, order: made } = await pay(goods(), choice);
      assert.deepEqual([customer.default_payment_method_id, customer.payment_methods], [null, []]);
      const own = { ...shop, customerId: customer.id, paymentMethodId: made.payment_method.id };
      const named = { payment_method_id: made.payment_method.id };
      assertRefused(await order(service, own, named), 400, 'validation_error', 'payment_method_id');
      assertRefused(await order(service, own, { ...named, off_session: true }), 400, 'validation_error');
      const plan = await somePlan(service);
      const body = { customer_id: customer.id, plan_id: plan.id, ...named };
      assertRefused(await service.call('POST', '/v1/subscriptions', { body }), 400, 'validation_error');
      const refund = await service.call('POST', `/v1/orders/${made.id}/refund`, { body: {} });
      assert.equal(refund.body.status, 'refunded', refund.text);
    }
  });

  it('is not saved for a customer that the merchant named, either', async () => {
    const before = await service.call('GET', `/v1/customers/${shop.customerId}/payment_methods`);
    const { customer } = await pay({ ...goods(), customer_id: shop.customerId }, {});
    assert.equal(customer.payment_methods.length, before.body.data.length);
    const saved = await pay({ ...goods(), customer_id: shop.customerId }, { save_card: true });
    assert.equal(saved.customer.payment_methods.length, before.body.data.length + 1);
  });

  it('is saved later if the customer agrees elsewhere and the merchant updates it', async () => {
    const { customer, order: made } = await pay(goods(), {});
    const path = `/v1/customers/${customer.id}/payment_methods/${made.payment_method.id}`;
    const saved = await service.call('PATCH', path, { body: { set_as_default: true } });
    assert.equal(saved.body.is_default, true, saved.text);
    const own = { ...shop, customerId: customer.id };
    const { body } = await order(service, own, { payment_method_id: made.payment_method.id });
    assert.equal(body.status, 'succeeded');
  });

  it('is saved for a subscription that renews, which says so, and not for a single period', async () => {
    const renewing = await somePlan(service);
    const { customer } = await pay({ mode: 'subscription', plan_id: renewing.id }, {});
    assert.equal(customer.payment_methods.length, 1);
    const once = await somePlan(service, { billing_cycles: 1 });
    const single = await pay({ mode: 'subscription', plan_id: once.id }, {});
    assert.deepEqual([single.customer.payment_methods, single.order.status], [[], 'succeeded']);
  });
});
