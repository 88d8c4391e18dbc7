import { Svc, SvcError, webhooks } from '@svc-payments/node';

const svc = new Svc(process.env.SVC_KEY, { baseUrl: process.env.SVC_URL });
const customer = await svc.customers.create({
  email: process.env.EMAIL,
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone: process.env.PHONE,
});
const found = await svc.customers.list({ email: customer.email }).toArray({ limit: 2 });
const missing = await svc.orders.get('019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c').catch((error) => error);
if (!(missing instanceof SvcError)) throw missing;
const event = await svc.sandbox.events.trigger({ type: 'order.succeeded' });
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const { body, headers } = await webhooks.signTestEvent(event, secret);
const verified = await webhooks.verify(body, headers, secret);
process.stdout.write(`${[found.length, missing.code, verified.type].join(' ')}\n`);
