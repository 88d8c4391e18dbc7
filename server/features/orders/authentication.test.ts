import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { approvedOutcome, declinedOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import {
  assertInvalid,
  assertRefused,
  capture,
  eventsOf,
  openShop,
  order,
  readOrder,
  retry,
  type Shop,
} from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { dayMs } from '../../platform/durations.ts';
import type { AuthenticationResult } from '../../vault/processors/authentication.ts';
import { companyOfConfirmation, confirmationUrl, orderOfConfirmation } from '../confirmations/token.ts';
import { credentialOf } from './operations/connection.ts';
import { getOrderState } from './service.ts';

/** Payments that the bank wants to confirm, cards with a mandate, and what is kept of an authentication. */

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});

const wanting = async () =>
  ({
    ...(await declinedOutcome()),
    failureCode: 'transaction_not_allowed',
    failureReason: 'The bank wants the customer to confirm the payment.',
    needsAuthentication: true,
  }) as const;
const result: AuthenticationResult = {
  flow: 'challenge',
  status: 'authenticated',
  liabilityShifted: true,
  version: '2.2.0',
  eci: '05',
};
const authenticated =
  (over: Partial<AuthenticationResult> = {}) =>
  async () =>
    ({ ...(await approvedOutcome()), authentication: { ...result, ...over } }) as const;

const methodOf = async ({ customerId, paymentMethodId }: Shop): Promise<Reply['body']> =>
  (await service.call('GET', `/v1/customers/${customerId}/payment_methods`)).body.data.find(
    ({ id }: { id: string }) => id === paymentMethodId,
  );

describe('an order whose bank wants to confirm the payment', () => {
  it('is failed with the address of a page for that, in its event too', async () => {
    faults.charge = wanting;
    const { body } = await order(service, shop);
    assert.deepEqual([body.status, body.failure_code], ['failed', 'transaction_not_allowed']);
    assert.match(body.authentication_url, /\/confirm\/[0-9A-Za-z]{66}$/);
    const failed = (await eventsOf(service, body.id)).find(({ type }) => type === 'order.failed');
    assert.equal(failed?.object.authentication_url, body.authentication_url);
    const listed = await service.call('GET', `/v1/orders?limit=1`);
    assert.equal(listed.body.data[0].authentication_url, body.authentication_url);
  });

  it('has none after another decline, after 30 days, and when it is paid', async () => {
    faults.charge = declinedOutcome;
    assert.equal((await order(service, shop)).body.authentication_url, null);
    faults.charge = wanting;
    const { id, authentication_url } = (await order(service, shop)).body;
    const [row] = await service.db.query<{ until: Date }>(
      'SELECT authentication_until AS until FROM orders WHERE id = $1',
      [id],
    );
    const days = ((row?.until.getTime() ?? 0) - service.clock.nowMs()) / dayMs;
    assert.ok(days > 29.99 && days <= 30, String(days));
    await service.db.query('UPDATE orders SET authentication_until = now() WHERE id = $1', [id]);
    assert.equal((await readOrder(service, id)).authentication_url, null);
    assert.equal((await service.call('GET', '/v1/orders?limit=1')).body.data[0].authentication_url, null);
    faults.charge = wanting;
    assert.equal((await retry(service, id)).body.authentication_url, authentication_url);
    delete faults.charge;
    const paid = (await retry(service, id)).body;
    assert.deepEqual([paid.status, paid.authentication_url], ['succeeded', null]);
  });
});

describe('the address of the page', () => {
  it('names company and order, and is of no use with another signature', () => {
    const key = service.linkKey;
    const [companyId, orderId] = [service.company.id, '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c'];
    const token = confirmationUrl(key, 'https://pay.example')(companyId, orderId).split('/').at(-1) ?? '';
    assert.equal(companyOfConfirmation(token), companyId);
    assert.equal(orderOfConfirmation(key, companyId, token), orderId);
    const forged = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');
    assert.equal(orderOfConfirmation(key, companyId, forged), undefined);
    const ofOther = token.slice(0, 22) + token.slice(0, 22) + token.slice(44);
    assert.equal(orderOfConfirmation(key, companyId, ofOther), undefined);
    assert.equal(companyOfConfirmation(token.slice(1)), undefined);
  });
});

describe('a card', () => {
  it('has a mandate after the bank authenticated the customer at a payment, and not before', async () => {
    const own = await openShop(service);
    assert.equal((await methodOf(own)).mandate, null);
    faults.charge = authenticated({ status: 'attempted' });
    await order(service, own);
    assert.equal((await methodOf(own)).mandate, null);
    faults.charge = async () => ({ ...(await declinedOutcome()), authentication: result });
    await order(service, own);
    assert.equal((await methodOf(own)).mandate, null);
    const other = { ...own, paymentMethodId: await capture(service, own.customerId, '5555555555554444') };
    faults.charge = authenticated();
    await order(service, own);
    assert.equal((await methodOf(other)).mandate, null, 'only of this card');
    const { mandate } = await methodOf(own);
    assert.match(mandate.created_at, /^\d{4}-/);
    await order(service, own);
    assert.deepEqual((await methodOf(own)).mandate, mandate);
  });

  it('can be charged without the customer only with a mandate', async () => {
    const own = await openShop(service);
    assertInvalid(await order(service, own, { off_session: true }), 'off_session');
    faults.charge = authenticated();
    await order(service, own);
    delete faults.charge;
    const { body } = await order(service, own, { off_session: true });
    assert.equal(body.status, 'succeeded');
    const state = await getOrderState(service.db, service.company.id, body.id);
    assert.ok(state);
    assert.deepEqual(credentialOf('order', state), { initiator: 'merchant', sequence: 'unscheduled' });
    const present = await getOrderState(service.db, service.company.id, (await order(service, own)).body.id);
    assert.deepEqual(present && credentialOf('order', present), { initiator: 'customer', sequence: 'first' });
    const second = await capture(service, own.customerId, '5555555555554444');
    const refused = await order(service, own, { off_session: true, payment_method_id: second });
    assertInvalid(refused, 'off_session');
  });

  it('that is authorized without the customer holds funds for less time', async () => {
    const own = await openShop(service);
    faults.charge = authenticated();
    await order(service, own);
    delete faults.charge;
    const { body } = await order(service, own, { off_session: true, capture: 'manual' });
    const holdsMs = Date.parse(body.capture_before) - Date.parse(body.created_at);
    assert.ok(Math.abs(holdsMs - 4.75 * dayMs) < 60_000, String(holdsMs));
  });
});

describe('a transaction', () => {
  it('shows the result of the authentication and the shift of the liability, beside the answer of the processor', async () => {
    faults.charge = authenticated();
    const { body } = await order(service, shop);
    const read = await service.call('GET', `/v1/transactions/${body.transactions[0].id}`);
    assert.deepEqual(read.body.authentication, {
      status: 'authenticated',
      flow: 'challenge',
      liability_shifted: true,
      version: '2.2.0',
      eci: '05',
    });
    assert.deepEqual(Object.keys(read.body.processor_response), [
      ...['transaction_id', 'authorization_code', 'avs_result', 'cvv_result', 'response_code', 'response_text'],
    ]);
    delete faults.charge;
    const plain = (await order(service, shop)).body.transactions[0].id;
    assert.equal((await service.call('GET', `/v1/transactions/${plain}`)).body.authentication, null);
  });
});

describe('the authentication that a merchant sends', () => {
  const given = {
    cavv: 'AAABBEg0VhI0VniQEjRWAAAAAAA=',
    eci: '05',
    directory_server_id: '0f8a2c2e-2f5b-4c7e-8f5c-6a4b3c2d1e0f',
    version: '2.2.0',
  };

  it('is checked, and not for a customer who is absent', async () => {
    for (const [field, value] of [
      ['cavv', 'not base64!'],
      ['eci', '5'],
      ['directory_server_id', 'none'],
      ['version', '3'],
    ] as const) {
      const reply = await order(service, shop, { authentication: { ...given, [field]: value } });
      assertRefused(reply, 400, 'validation_error', `authentication.${field}`);
    }
    const both = await order(service, shop, { off_session: true, authentication: given });
    assertInvalid(both, 'authentication');
  });

  it('is shown as its result, gives a mandate, and is not stored', async () => {
    const own = await openShop(service);
    const { body } = await order(service, own, { authentication: given });
    assert.equal(body.status, 'succeeded');
    const read = await service.call('GET', `/v1/transactions/${body.transactions[0].id}`);
    assert.partialDeepStrictEqual(read.body.authentication, { status: 'authenticated', eci: '05', version: '2.2.0' });
    assert.ok((await methodOf(own)).mandate);
    const [stored] = await service.db.query<{ found: boolean }>(
      `SELECT to_jsonb(o)::text LIKE $2 OR to_jsonb(t)::text LIKE $2 AS found
       FROM orders o JOIN transactions t ON t.order_id = o.id WHERE o.id = $1`,
      [body.id, `%${given.cavv}%`],
    );
    assert.equal(stored?.found, false);
  });
});
