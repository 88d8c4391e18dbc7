import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { dashboardRoutes } from '../server/app.ts';
import { writeExports } from '../server/features/exports/jobs.ts';
import { type MemberPermission, memberPermissions, permissionNotes } from '../server/http/permissions.ts';
import type { Route } from '../server/http/route.ts';
import { exportedLists } from '../server/jobs/exported-lists.ts';
import { colleague, companyOf, type Person, signUp } from './support/dashboard.ts';
import { invoicesFor, numberNow } from './support/invoices.ts';
import { routes } from './support/openapi.ts';
import { readPages } from './support/pdf-pages.ts';
import { type Reply, someProduct, startTestService, type TestService } from './support/service.ts';

/**
 * The permission to read customers guards every way to their names, email addresses and phone numbers. A member gets one permission
 * at a time, calls every GET that it allows, and opens every link in the answers.
 */

const secrets = ['Zebulon', 'Quartermaine', 'zq@buyer.example', '5550123987', 'Quillfeather Ltd', 'GB987654321'];
const showsCustomers = (permission: MemberPermission): boolean =>
  permission.startsWith('customers:') || (permissionNotes[permission] ?? '').includes('complete objects');
/** It shows the bodies of requests, and says so. */
const showsRequests = (permission: MemberPermission): boolean => permission === 'requests:read';

let service: TestService;
let owner: Person;
let member: Person;
let roleId: string;
let ids: Record<string, string>;

const post = async (path: string, body: unknown, person = owner): Promise<Record<string, any>> => {
  const reply = await person.in('POST', path, body, { idempotencyKey: randomUUID() });
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return reply.body;
};
const firstOf = async (path: string): Promise<string> => (await owner.in('GET', path)).body.data[0].id;

before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  const { id: endpoint } = await post('/v1/webhook_endpoints', {
    url: 'https://receiver.test/hooks',
    enabled_events: ['order.created'],
  });
  const { id: customer } = await post('/v1/customers', {
    email: 'zq@buyer.example',
    first_name: 'Zebulon',
    last_name: 'Quartermaine',
    phone: '+15550123987',
    company: 'Quillfeather Ltd',
    tax_id: 'GB987654321',
  });
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  const { id: pm_id } = await post('/capture', { customer_id: customer, card });
  const { id: product } = await post('/v1/products', someProduct());
  const companyId = await invoicesFor(service, customer);
  const items = [{ product_id: product, quantity: 1 }];
  const { id: coupon } = await post('/v1/coupons', { name: 'TEA10', kind: 'promo', percentage: 10 });
  const buy = (): Promise<Record<string, any>> =>
    post('/v1/orders', { customer_id: customer, items, coupon_code: 'TEA10' });
  const { id: order, transactions } = await buy();
  const { id: disputed } = await buy();
  await post(`/v1/sandbox/orders/${disputed}/chargeback`, {});
  const { id: refunded, total } = await buy();
  const { id: bulk } = await post('/dashboard/bulk_refunds', {
    orders: [{ order_id: refunded, amount: total }],
    totals: [{ currency: 'usd', amount: total }],
  });
  const { id: plan } = await post('/dashboard/plans', {
    name: 'Tea of the month',
    amount: 1900,
    currency: 'usd',
    billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
  });
  const { id: subscription } = await post('/v1/subscriptions', { customer_id: customer, plan_id: plan });
  const { id: otherPlan } = await post('/dashboard/plans', {
    name: 'Tea of the year',
    amount: 2900,
    currency: 'usd',
    billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
  });
  const { id: planGroup } = await post('/dashboard/plan_groups', {
    ...{ name: 'Teas', plan_ids: [plan, otherPlan], upgrade: 'now', downgrade: 'renewal', proration: 'difference' },
    ...{ after_cycles: 0, seats_max: null },
  });
  const { id: priceChange } = await post('/dashboard/price_changes', { plan_id: plan, to_plan_id: otherPlan });
  const { id: link } = await post('/v1/payment_links', { name: 'Tea', mode: 'payment', items });
  const { id: session } = await post('/v1/checkout_sessions', { customer_id: customer, mode: 'payment', items });
  const { id: customerSession } = await post('/v1/customer_sessions', { customer_id: customer });
  await post(`/dashboard/customers/${customer}/notes`, { text: 'Zebulon Quartermaine asked for a quote' });
  await post(`/dashboard/orders/${order}/notes`, { text: 'Sent on Monday' });
  const role = await post('/dashboard/roles', { name: 'One permission', permissions: ['products:read'] });
  roleId = role.id;
  member = await colleague(service, owner, 'One permission');
  await numberNow(service, companyId);
  const invoice = await firstOf('/v1/invoices');
  const dispute = await firstOf('/dashboard/disputes');
  const eventId = await firstOf('/v1/events?type=order.created');
  const requestId = await firstOf('/v1/requests');
  ids = {
    customer,
    pm_id,
    product,
    order,
    transaction: transactions[0].id,
    invoice,
    dispute,
    coupon,
    plan,
    subscription,
  };
  await service.createKey({ ...service.company, id: companyOf(owner, 'sandbox') }, { permissions: ['orders:read'] });
  const apiKey = await firstOf('/dashboard/api_keys');
  const teamMember = await firstOf('/v1/team_members');
  ids = {
    ...ids,
    link,
    session,
    customerSession,
    bulk,
    planGroup,
    priceChange,
    endpoint,
    eventId,
    requestId,
    apiKey,
    teamMember,
    role: role.id,
  };
});
after(() => service.stop());

/** The object of a path, by its beginning. The longest one counts. */
const subjects: Record<string, string> = {
  '/v1/customers': 'customer',
  '/v1/products': 'product',
  '/v1/orders': 'order',
  '/v1/plans': 'plan',
  '/v1/coupons': 'coupon',
  '/v1/subscriptions': 'subscription',
  '/v1/checkout_sessions': 'session',
  '/v1/payment_links': 'link',
  '/dashboard/payment_links': 'link',
  '/v1/customer_sessions': 'customerSession',
  '/v1/transactions': 'transaction',
  '/v1/invoices': 'invoice',
  '/v1/events': 'eventId',
  '/v1/webhook_endpoints': 'endpoint',
  '/dashboard/customers': 'customer',
  '/dashboard/orders': 'order',
  '/dashboard/customer_emails/preview': 'order',
  '/dashboard/bulk_refunds': 'bulk',
  '/dashboard/plan_groups': 'planGroup',
  '/dashboard/price_changes': 'priceChange',
  '/dashboard/subscriptions': 'subscription',
  '/dashboard/webhook_endpoints': 'endpoint',
  '/dashboard/disputes': 'dispute',
  '/dashboard/api_keys': 'apiKey',
  '/dashboard/team_members': 'teamMember',
  '/dashboard/roles': 'role',
};
/** Exports have a test of their own; going live, processors, approvals and chargebacks are for live companies. */
const apart = [
  '/dashboard/agent_approvals/:id',
  '/dashboard/chargebacks/:id/payments',
  '/dashboard/exports/:id',
  '/dashboard/exports/:id/content',
  '/dashboard/going_live',
  '/dashboard/processors/:id',
];
/** What these need to answer. */
const queries: Record<string, string> = {
  '/dashboard/search': 'q=Zebulon',
  '/v1/orders': 'q=Zebulon',
  '/dashboard/timeline': 'object_id=ORDER',
  '/dashboard/customer_summaries': 'customer_id=CUSTOMER',
};
const every: readonly Route[] = [...routes, ...dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0])].filter(
  ({ method, path }) => method === 'GET' && !apart.includes(path),
);

function pathTo({ path }: Route): string {
  const subject = Object.keys(subjects)
    .filter((beginning) => path.startsWith(`${beginning}/`))
    .toSorted((one, other) => other.length - one.length)[0];
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const id = ids[name === 'id' ? (subjects[subject ?? ''] ?? '') : name];
    assert.ok(id, `say which object ${path} is about`);
    return id;
  });
  const query = queries[path]?.replace('ORDER', ids.order ?? '').replace('CUSTOMER', ids.customer ?? '');
  return query ? `${filled}?${query}` : filled;
}

function assertHidden(text: string, where: string): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `${where} shows ${secret}`);
}

/** The answer, and what the links in it lead to. */
async function everythingIn({ text, body }: Reply): Promise<string> {
  const url: unknown = body.url;
  if (typeof url !== 'string') return text;
  const { pathname, search } = new URL(url, service.baseUrl);
  const opened = await fetch(service.baseUrl + pathname + search);
  const bytes = Buffer.from(await opened.arrayBuffer());
  const isPdf = opened.headers.get('content-type') === 'application/pdf';
  const pages = isPdf ? await readPages(bytes) : [];
  return [text, bytes.toString(), ...pages.flatMap((page) => [page.text, ...page.actualTexts])].join('\n');
}

async function grant(...permissions: readonly MemberPermission[]): Promise<void> {
  const changed = await owner.in('PATCH', `/dashboard/roles/${roleId}`, { permissions });
  assert.equal(changed.status, 200, changed.text);
}

async function exportOf(list: string): Promise<string> {
  const { id } = await post('/dashboard/exports', { list }, member);
  const { db, clock, company } = service;
  const lists = exportedLists(service as unknown as Parameters<typeof exportedLists>[0]);
  await writeExports({ name: company.shard, db, clock }, lists);
  const { status, body } = await member.in('GET', `/dashboard/exports/${id}/content`);
  assert.equal(status, 200);
  return body.data.join('');
}

describe('a member without permission to read customers', () => {
  for (const permission of memberPermissions.filter((one) => !showsCustomers(one) && !showsRequests(one))) {
    it(`sees no name, email or phone of a customer with ${permission}`, async () => {
      await grant(permission);
      for (const route of every.filter((one) => one.permission === null || one.permission === permission)) {
        const reply = await member.in('GET', pathTo(route));
        // An e-invoice names its customer or is none.
        const expected = route.operationId === 'getInvoiceXml' ? 403 : 200;
        assert.equal(reply.status, expected, `${route.path}: ${reply.text}`);
        assertHidden(await everythingIn(reply), `GET ${route.path} with ${permission}`);
      }
    });
  }

  it('exports lists without the columns of customers', async () => {
    for (const [list, permission] of Object.entries({
      orders: 'orders:read',
      transactions: 'transactions:read',
      subscriptions: 'subscriptions:read',
      disputes: 'orders:read',
      audit_log: 'audit_log:read',
    } as const)) {
      await grant(permission);
      const csv = await exportOf(list);
      assertHidden(csv, `the export of ${list}`);
      assert.doesNotMatch(csv.split('\r\n')[0] ?? '', /customer_(name|email)/);
      assert.ok(csv.split('\r\n').length > 2, list);
    }
    await grant('orders:read', 'customers:read');
    const [header = '', first = ''] = (await exportOf('orders')).split('\r\n');
    assert.match(header, /"customer_name","customer_email"/);
    assert.match(first, /"Zebulon Quartermaine","zq@buyer.example"/);
  });

  it('gets a receipt that nothing in its link can turn into one with the customer', async () => {
    const receipt = async (): Promise<{ text: string; url: URL }> => {
      const reply = await member.in('GET', `/v1/orders/${ids.order}/receipt`);
      return { text: await everythingIn(reply), url: new URL(reply.body.url) };
    };
    await grant('orders:read', 'customers:read');
    const whole = await receipt();
    for (const secret of ['Zebulon Quartermaine', 'Quillfeather Ltd', 'zq@buyer.example', 'Billed to']) {
      assert.ok(whole.text.includes(secret), secret);
    }
    await grant('orders:read');
    const part = await receipt();
    assertHidden(part.text, 'the receipt');
    assert.doesNotMatch(part.text, /Billed to/);
    assert.match(part.text, /R-\d{6}/);
    assert.deepEqual([...part.url.searchParams.keys()].toSorted(), ['expires', 'signature']);
    assert.equal(part.url.pathname, whole.url.pathname);
    const key = await service.createKey(
      { ...service.company, id: companyOf(owner, 'sandbox') },
      { permissions: ['orders:read'] },
    );
    const byKey = await service.call('GET', `/v1/orders/${ids.order}/receipt`, { key });
    assertHidden(await everythingIn(byKey), 'the receipt for an API key');
  });
});
