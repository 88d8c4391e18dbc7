import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { chargeOf } from '../../../tests/support/processor-requests.ts';
import { CardNumber } from '../card-number.ts';
import { authorizationOf } from './adyen/requests.ts';
import { Secret } from '../../platform/secret.ts';
import { listen } from '../../../tests/support/listen.ts';
import { readBody } from '../../../simulators/wire.ts';
import { acquirerProcessor } from './acquirer/adapter.ts';
import { saleFields } from './nmi/requests.ts';
import { confirmIntent, createIntent } from './stripe/requests.ts';

/** What processors learn about the delivery and write on the statement. */

const card = { number: new CardNumber('4000056655665556'), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
const shipping = {
  name: 'Ada King Byron',
  phone: null,
  line1: '12 St James Square',
  line2: null,
  city: 'London',
  state: null,
  postalCode: 'SW1Y 4JH',
  country: 'GB',
};
const request = chargeOf(card, { shipping });
const amount = { value: 4900, currency: 'USD' };
const formOf = ({ body }: { readonly body?: { readonly content: string | Buffer } }): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(String(body?.content)));

it('Stripe gets the delivery address with a name, and the descriptor before the payment is confirmed', () => {
  const confirmed = formOf(confirmIntent('pi_1', 'pm_1', request));
  const shown = Object.entries(confirmed).filter(([name]) => name.startsWith('shipping'));
  assert.deepEqual(Object.fromEntries(shown), {
    'shipping[name]': 'Ada King Byron',
    'shipping[address][line1]': '12 St James Square',
    'shipping[address][city]': 'London',
    'shipping[address][postal_code]': 'SW1Y 4JH',
    'shipping[address][country]': 'GB',
  });
  const nameless = confirmIntent('pi_1', 'pm_1', { ...request, shipping: { ...shipping, name: null } });
  assert.ok(!Object.keys(formOf(nameless)).some((name) => name.startsWith('shipping')));
  const intent = formOf(createIntent(request.reference, 4900, 'usd', undefined, 'ORDERS'));
  assert.equal(intent.statement_descriptor_suffix, 'ORDERS');
});

it('Adyen gets a complete delivery address and the descriptor', () => {
  const sent = authorizationOf(request, 'SvcECOM', amount, 'TEA HOUSE');
  assert.deepEqual(sent.deliveryAddress, {
    houseNumberOrName: '12',
    street: 'St James Square',
    city: 'London',
    country: 'GB',
    postalCode: 'SW1Y 4JH',
  });
  assert.equal(sent.shopperStatement, 'TEA HOUSE');
  const incomplete = { ...request, shipping: { ...shipping, postalCode: null } };
  assert.equal(authorizationOf(incomplete, 'SvcECOM', amount).deliveryAddress, undefined);
});

it('NMI gets the delivery address and the descriptor', () => {
  const fields = saleFields(request, { duplicateSeconds: 0, descriptor: 'TEA HOUSE' });
  const { descriptor, shipping_firstname, shipping_lastname, shipping_address1, shipping_zip } = fields;
  assert.deepEqual(
    [descriptor, shipping_firstname, shipping_lastname, shipping_address1, shipping_zip],
    ['TEA HOUSE', 'Ada King', 'Byron', '12 St James Square', 'SW1Y 4JH'],
  );
});

it('Adyen, NMI and acquirers get the address of a customer who is present; Stripe takes none', async () => {
  const present = { ...request, customerIp: '198.41.0.4' };
  assert.equal(authorizationOf(present, 'SvcECOM', amount).shopperIP, '198.41.0.4');
  assert.equal(authorizationOf(request, 'SvcECOM', amount).shopperIP, undefined);
  assert.equal(saleFields(present, { duplicateSeconds: 0 }).ipaddress, '198.41.0.4');
  assert.ok(!('ipaddress' in saleFields(request, { duplicateSeconds: 0 })));
  assert.ok(!JSON.stringify(formOf(confirmIntent('pi_1', 'pm_1', present))).includes('198.41.0.4'));
});

it('an acquirer gets the delivery address, the descriptor, and the email and address of the customer', async (t) => {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer((received, response) => {
    void readBody(received).then((body) => {
      bodies.push(JSON.parse(String(body)));
      response.writeHead(503).end();
    });
  });
  t.after(() => server.close());
  const options = { url: await listen(server), secret: new Secret('a secret'), timeoutMs: 5_000 };
  const billing = { ...shipping, email: 'ada@example.com' };
  const processor = acquirerProcessor({ ...options, descriptor: 'TEA HOUSE' });
  await processor.charge({ ...request, billing, customerIp: '198.41.0.4' });
  await acquirerProcessor(options).charge(chargeOf(card));
  const { postalCode: postal_code, ...address } = shipping;
  const [full, plain] = bodies;
  assert.deepEqual(full?.shipping, { ...address, postal_code });
  assert.deepEqual(full?.billing, { ...address, postal_code, email: 'ada@example.com' });
  assert.deepEqual([full?.customer_ip, full?.statement_descriptor], ['198.41.0.4', 'TEA HOUSE']);
  assert.deepEqual(Object.keys(plain ?? {}).toSorted(), ['amount', 'card', 'currency', 'reference']);
});
