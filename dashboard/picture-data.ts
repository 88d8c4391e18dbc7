import sharp from 'sharp';
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
        ...(body && { 'content-type': 'application/json' }),
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
/** The others come over the year. */
const firstCustomers = 60;
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

const [first, last] = [firstNames.split(' '), lastNames.split(' ')];

async function createCustomer(call: Call, index: number): Promise<string> {
  const first_name = first[index % first.length] ?? '';
  const last_name = last[(index + Math.floor(index / first.length)) % last.length] ?? '';
  const email = `${first_name}.${last_name}@example.com`.toLowerCase();
  const phone = `+1555${String(2_000_000 + index)}`;
  const tags = index % 7 === 0 ? ['wholesale'] : index % 11 === 0 ? ['vip'] : [];
  const { id } = await call('POST', '/v1/customers', { first_name, last_name, email, phone, tags });
  const card = { number: numbers[index % numbers.length], exp_month: '12', exp_year: '2032', cvc: '999' };
  await call('POST', '/capture', { customer_id: id, card });
  return id;
}

interface Shop {
  readonly customers: string[];
  readonly subscriptions: string[];
  readonly products: readonly Answer[];
  readonly plans: readonly Answer[];
}

type Rgb = readonly [red: number, green: number, blue: number];

/** A disc or a half of it, with a handle, in the colors of the product. */
const drawings: readonly { readonly ground: Rgb; readonly ink: Rgb; readonly top: number }[] = [
  { ground: [207, 227, 214], ink: [47, 107, 79], top: 90 },
  { ground: [243, 223, 198], ink: [176, 98, 40], top: 200 },
  { ground: [216, 214, 242], ink: [67, 56, 202], top: 140 },
];

function draw({ ground, ink, top }: (typeof drawings)[number]): Promise<Buffer> {
  const size = 400;
  const pixels = Buffer.alloc(size * size * 3);
  for (let place = 0; place < size * size; place += 1) {
    const [x, y] = [place % size, Math.floor(place / size)];
    const isCup = y > top && Math.hypot(x - 180, y - 200) < 110;
    const isHandle = Math.abs(Math.hypot(x - 290, y - 225) - 44) < 12 && x > 270;
    pixels.set(isCup || isHandle ? ink : ground, place * 3);
  }
  return sharp(pixels, { raw: { width: size, height: size, channels: 3 } })
    .png()
    .toBuffer();
}

async function addImages({ base_url, secret_key }: Demo, products: readonly Answer[]): Promise<void> {
  for (const [index, { id }] of products.entries()) {
    const drawing = drawings[index % drawings.length];
    if (!drawing) continue;
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(await draw(drawing))]), 'product.png');
    const headers = { authorization: `Bearer ${secret_key}` };
    const response = await fetch(`${base_url}/v1/products/${id}/images`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(await response.text());
  }
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
    const { id, status } = await call('POST', '/v1/subscriptions', { customer_id: subscriber, plan_id: plan.id });
    if (status === 'active') shop.subscriptions.push(id);
  }
  if (day % 40 === 39) {
    const [leaving] = shop.subscriptions.splice(random(shop.subscriptions.length), 1);
    const found = leaving && (await call('GET', `/v1/subscriptions/${leaving}`));
    if (found && ['active', 'past_due'].includes(found.status)) await call('DELETE', `/v1/subscriptions/${leaving}`);
  }
  const comes = Math.floor(((day + 1) * (customerCount - firstCustomers)) / days) + firstCustomers;
  while (shop.customers.length < comes) shop.customers.push(await createCustomer(call, shop.customers.length));
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
  await addImages(demo, products);
  const customers: string[] = [];
  await eachAtOnce(Array.from({ length: firstCustomers }), async (_, index) => {
    customers[index] = await createCustomer(call, index);
  });
  const shop = { customers, subscriptions: [], products, plans };
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
