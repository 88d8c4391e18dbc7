import type { Demo } from '../server/demo.ts';

/** A year of an established shop in the sandbox: what the pictures of the dashboard show. */

export type Ids = Record<'customer' | 'order' | 'subscription' | 'product' | 'plan' | 'coupon' | 'endpoint', string>;

/** The fields of API responses that this file reads. */
interface Answer {
  readonly id: string;
  readonly status: string;
  readonly data: readonly Answer[];
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

function callerOf({ base_url, secret_key }: Demo): Call {
  let count = 0;
  return async (method, path, body) => {
    count += 1;
    const response = await fetch(base_url + path, {
      method,
      headers: {
        authorization: `Bearer ${secret_key}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': `picture-${count}`,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
}

const firstNames =
  'Ada Grace Alan Emmy Edsger Barbara Mary Charles Sofia Niels Rosalind Karl Hedy Tim Lise Max Dorothy John Maria Leon';
const lastNames = 'Lovelace Hopper Turing Noether Dijkstra Liskov Somerville Babbage Kowalska Bohr';

const [visa, master, amex] = ['4242424242424242', '5555555555554444', '378282246310005'] as const;
/** Most cards work. The others: insufficient funds, a decline without a reason, an expired card, and declines after the first charge. */
const numbers = [
  ...[visa, visa, master, visa, amex, visa, master, visa, visa, '4000000000009995', visa, visa, master],
  ...['4000000000000002', amex, visa, '4000000000000069', master, visa, '4000009999000341'],
] as const;

const customerCount = 200;
const days = 365;
const ordersPerDay = 8;
const atOnce = 8;

/** The same data in every run. */
function seeded(): (below: number) => number {
  let state = 7;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

async function eachAtOnce<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += atOnce) {
    await Promise.all(items.slice(start, start + atOnce).map((item, offset) => work(item, start + offset)));
  }
}

async function createCustomers(call: Call): Promise<string[]> {
  const [first, last] = [firstNames.split(' '), lastNames.split(' ')];
  const ids: string[] = [];
  await eachAtOnce(Array.from({ length: customerCount }), async (_, index) => {
    const first_name = first[index % first.length] ?? '';
    const last_name = last[Math.floor(index / first.length)] ?? '';
    const email = `${first_name}.${last_name}@example.com`.toLowerCase();
    const phone = `+1555${String(2_000_000 + index)}`;
    const { id } = await call('POST', '/v1/customers', { first_name, last_name, email, phone });
    const card = { number: numbers[index % numbers.length], exp_month: '12', exp_year: '2032', cvc: '999' };
    await call('POST', '/capture', { customer_id: id, card });
    ids[index] = id;
  });
  return ids;
}

interface Shop {
  readonly customers: readonly string[];
  readonly products: readonly Answer[];
  readonly plans: readonly Answer[];
}

/** A growing shop that sells more at weekends. */
async function liveOneDay(call: Call, shop: Shop, day: number, random: (below: number) => number): Promise<string[]> {
  const busy = 0.5 + day / days + (day % 7 >= 5 ? 0.4 : 0);
  const count = Math.max(1, Math.round(ordersPerDay * busy + random(5) - 2));
  const paid: string[] = [];
  const wishes = Array.from({ length: count }, () => ({
    customer_id: shop.customers[random(shop.customers.length)],
    items: [{ product_id: shop.products[random(shop.products.length)]?.id, quantity: 1 + random(3) }],
  }));
  await eachAtOnce(wishes, async (wish) => {
    const { id, status } = await call('POST', '/v1/orders', wish);
    if (status === 'succeeded') paid.push(id);
  });
  if (day % 4 === 0 && paid[0])
    await call('POST', `/v1/orders/${paid[0]}/refund`, day % 8 === 0 ? { amount: 500 } : {});
  if ((day % 45 === 10 || day === days - 3) && paid[1]) await call('POST', `/v1/sandbox/orders/${paid[1]}/chargeback`);
  const subscriber = shop.customers[random(shop.customers.length)];
  const plan = shop.plans[random(shop.plans.length)];
  if (day % 5 === 0 && subscriber && plan) {
    await call('POST', '/v1/subscriptions', { customer_id: subscriber, plan_id: plan.id });
  }
  await call('POST', '/v1/sandbox/clock/advance', { by: { days: 1 } });
  return paid;
}

export async function seedYear(demo: Demo): Promise<Ids> {
  const call = callerOf(demo);
  const random = seeded();
  const { data: products } = await call('GET', '/v1/products');
  const { data: plans } = await call('GET', '/v1/plans');
  const discount = { percentage: 20, duration: 'once', product_scope: 'all', plan_scope: 'all', codes: { count: 25 } };
  const coupon = await call('POST', '/v1/coupons', { name: 'Spring tea', ...discount });
  const customers = await createCustomers(call);
  const shop = { customers, products, plans };
  let endpoint: Answer | undefined;
  let paid: string[] = [];
  for (let day = 0; day < days; day += 1) {
    if (day === days - 2) {
      const url = 'https://127.0.0.1:9/hooks';
      endpoint = await call('POST', '/v1/webhook_endpoints', { url, description: 'Warehouse', enabled_events: ['*'] });
    }
    paid = await liveOneDay(call, shop, day, random);
  }
  const order = paid.at(-1) ?? '';
  await call('POST', `/v1/orders/${order}/refund`, { amount: 500 });
  const [active] = (await call('GET', '/v1/subscriptions?status=active&limit=1')).data as readonly (Answer & {
    customer_id: string;
  })[];
  return {
    customer: active?.customer_id ?? customers[0] ?? '',
    order,
    subscription: active?.id ?? '',
    product: products[0]?.id ?? '',
    plan: plans[0]?.id ?? '',
    coupon: coupon.id,
    endpoint: endpoint?.id ?? '',
  };
}
