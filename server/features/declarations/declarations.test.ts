import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription, somePlan, someSubscriber, subscribe } from '../../../tests/support/subscriptions.ts';
import { companyAddress } from '../../http/page-token.ts';
import { languages } from '../../customer-texts/languages.ts';
import { limits } from '../../limits.ts';
import { mailsToday } from '../mails/service.ts';

/** What customers declare without signing in: that they cancel, and that they withdraw. */

let service: TestService;
let owner: Person;
let key: string;
let companyId: string;
before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  owner = await signUp(service);
  companyId = companyOf(owner, 'sandbox');
  key = await service.createKey({ ...service.company, id: companyId });
  await profile({ display_name: 'Tea House', support_email: 'help@tea.example', address: { country: 'DE' } });
});
after(() => service.stop());

const profile = (body: object): Promise<Reply> => owner.in('PATCH', '/dashboard/profile', body);

let addresses = 0;
/** From another address each time, unless one is given. */
const nextAddress = (): string => `203.0.113.${(addresses += 1)}`;

interface Sent {
  readonly kind?: 'cancel' | 'withdraw';
  readonly locale?: string;
  readonly address?: string;
  readonly company?: string;
}

const someEmail = (): string => `${randomUUID()}@example.com`;

function send(
  body: object,
  { kind = 'cancel', locale = 'en', address = nextAddress(), company = companyId }: Sent = {},
) {
  const headers = { origin: service.baseUrl, 'accept-language': locale, 'x-forwarded-for': address };
  return service.call('POST', `/${kind}/${companyAddress(company)}/declarations`, {
    ...{ key: null, headers },
    body: { request: randomUUID(), name: 'Ada Lovelace', email: someEmail(), contract: 'Tea of the month', ...body },
  });
}

async function subscribed(): Promise<{ id: string; email: string; number: string }> {
  const plan = await somePlan(service, {}, { ...service.company, id: companyId });
  const customerId = await someSubscriber(service, undefined, { key });
  const { body } = await subscribe(service, { customer_id: customerId, plan_id: plan.id }, { key });
  const { body: order } = await service.call('GET', `/v1/orders/${body.latest_order_id}`, { key });
  const { body: customer } = await service.call('GET', `/v1/customers/${customerId}`, { key });
  return { id: body.id, email: customer.email, number: order.order_number };
}

const mailsTo = (recipient: string): Promise<{ subject: string; body: string; waits: boolean }[]> =>
  service.db.query(
    `SELECT subject, body, next_attempt_at IS NOT NULL AS waits FROM mails WHERE company_id = $1 AND recipient = $2 ORDER BY id`,
    [companyId, recipient],
  );

const listed = async (email: string): Promise<Reply['body'][]> => {
  const { body } = await owner.in('GET', '/dashboard/declarations');
  return body.data.filter((one: Reply['body']) => one.email === email);
};

describe('a cancellation without signing in', () => {
  it('ends the renewal of the subscription that the order number names, and is confirmed with the time', async () => {
    const { id, email, number } = await subscribed();
    const reply = await send({ email: email.toUpperCase(), contract: ` ${number.toLowerCase()} ` });
    assert.deepEqual([reply.status, reply.body.email], [201, email.toUpperCase()], reply.text);
    assert.match(reply.body.time, /^[A-Z]\w+ \d+, \d{4} at .+ UTC$/);
    const after = await readSubscription(service, id, { key });
    assert.deepEqual([after.status, after.next_billing_at], ['active', null]);
    const [mail, ...more] = await mailsTo(email.toUpperCase());
    assert.equal(more.length, 0);
    assert.equal(mail?.subject, 'Your cancellation at Tea House');
    for (const part of [reply.body.time, 'Ada Lovelace', number.toLowerCase(), 'does not renew. It ends on']) {
      assert.ok(mail?.body.includes(part), `${part} in ${mail?.body}`);
    }
    assert.equal(mail?.waits, false, 'a sandbox sends no emails to strangers');
    const [declared] = await listed(email.toUpperCase());
    assert.deepEqual(
      [declared?.kind, declared?.subscription_id, declared?.ends_at, declared?.handled_at !== null],
      ['cancel', id, after.current_period_end, true],
    );
  });

  it('is a request to the merchant if the order number is not known for this email address, with the same answer', async () => {
    const { id, email, number } = await subscribed();
    const other = await subscribed();
    for (const body of [
      { email, contract: 'Tea of the month' },
      { email: someEmail(), contract: number },
      { email: other.email, contract: number },
    ]) {
      const reply = await send(body);
      assert.deepEqual([reply.status, Object.keys(reply.body).toSorted()], [201, ['email', 'time']], reply.text);
      const [mail] = await mailsTo(body.email);
      assert.match(mail?.body ?? '', /Tea House will confirm when the contract ends\./);
      const [declared] = await listed(body.email);
      assert.deepEqual([declared?.order_id, declared?.subscription_id, declared?.handled_at], [null, null, null]);
    }
    const unchanged = await readSubscription(service, id, { key });
    assert.notEqual(unchanged.next_billing_at, null);
    const notices = await mailsTo('help@tea.example');
    assert.ok(notices.some(({ body }) => body.includes(number) && body.includes('Please answer the customer')));
  });

  it('leaves the subscription to the merchant who does not let customers end it, or if it has ended', async () => {
    const { id, email, number } = await subscribed();
    await profile({ customer_page: { allow_end_renewal: false } });
    await send({ email, contract: number });
    await profile({ customer_page: { allow_end_renewal: true } });
    assert.notEqual((await readSubscription(service, id, { key })).next_billing_at, null);
    await service.call('DELETE', `/v1/subscriptions/${id}`, { key });
    assert.equal((await send({ email, contract: number })).status, 201);
    assert.deepEqual(
      (await listed(email)).map(({ subscription_id, handled_at }) => [subscription_id, handled_at]),
      [
        [id, null],
        [id, null],
      ],
    );
  });

  it('is one if the page repeats it', async () => {
    const { email, number } = await subscribed();
    const request = randomUUID();
    const replies = await Promise.all([1, 2, 3].map(() => send({ request, email, contract: number })));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.equal(new Set(replies.map(({ body }) => body.time)).size, 1);
    assert.deepEqual([(await listed(email)).length, (await mailsTo(email)).length], [1, 1]);
  });
});

describe('a withdrawal', () => {
  it('is a request to the merchant, who marks it as handled', async () => {
    const { id, email, number } = await subscribed();
    const sent = await send({ email, contract: number, message: 'It was broken.' }, { kind: 'withdraw' });
    assert.equal(sent.status, 201, sent.text);
    const [mail] = await mailsTo(email);
    assert.equal(mail?.subject, 'Your withdrawal at Tea House');
    assert.match(mail?.body ?? '', /It was broken\.[^]*Tea House will answer you about the refund\./);
    assert.notEqual((await readSubscription(service, id, { key })).next_billing_at, null);
    const [declared] = await listed(email);
    assert.deepEqual([declared?.subscription_id, declared?.ends_at, declared?.handled_at], [id, null, null]);
    const path = `/dashboard/declarations/${declared?.id}/handle`;
    const handled = await owner.in('POST', path);
    assert.notEqual(handled.body.handled_at, null, handled.text);
    assert.equal((await owner.in('POST', path)).body.handled_at, handled.body.handled_at);
    assert.equal((await owner.in('POST', path, undefined, { company: companyOf(owner, 'live') })).status, 404);
    const clerk = await colleague(service, owner, 'Viewer');
    assertRefused(await clerk.in('POST', path), 403, 'insufficient_permissions');
  });

  it('is confirmed in the language of the page', async () => {
    for (const locale of languages) {
      for (const kind of ['cancel', 'withdraw'] as const) {
        const email = someEmail();
        const reply = await send({ email, message: 'Hm.' }, { kind, locale });
        const [mail] = await mailsTo(email);
        assert.ok(mail?.body.includes(reply.body.time), `${locale} ${kind}`);
        assert.ok(mail?.subject.includes('Tea House') && !/[{}]|undefined/.test(mail.subject + mail.body), mail?.body);
      }
    }
  });
});

describe('the pages', () => {
  it('exist in Europe, and elsewhere if the merchant wants them', async () => {
    const status = async (): Promise<number> =>
      (await service.call('GET', `/cancel/${companyAddress(companyId)}/company`, { key: null })).status;
    assert.equal(await status(), 200);
    await profile({ address: { country: 'US' } });
    assert.equal(await status(), 404);
    assert.equal((await send({})).status, 404);
    await profile({ customer_page: { accept_declarations: true } });
    assert.equal(await status(), 200);
    await profile({ address: { country: 'DE' }, customer_page: { accept_declarations: false } });
    assert.equal(await status(), 404);
    const { body } = await profile({ customer_page: { accept_declarations: true } });
    assert.deepEqual(
      [body.cancel_url, body.withdraw_url],
      [`/cancel/${companyAddress(companyId)}`, `/withdraw/${companyAddress(companyId)}`],
    );
  });

  it('write to the team of a sandbox only, and use up no emails to the team', async () => {
    const before = await mailsToday(service.db, companyId);
    const stranger = someEmail();
    for (const support_email of [stranger, owner.email]) {
      await profile({ support_email });
      assert.equal((await send({})).status, 201);
    }
    await profile({ support_email: 'help@tea.example' });
    const noticed = async (recipient: string): Promise<boolean[]> =>
      (await mailsTo(recipient)).flatMap(({ body, waits }) => (body.includes('Tea of the month') ? [waits] : []));
    assert.deepEqual([await noticed(stranger), await noticed(owner.email)], [[false], [true]]);
    assert.equal(await mailsToday(service.db, companyId), before);
  });

  it('take no links, which their emails would carry, and nothing from another site', async () => {
    for (const field of ['name', 'contract', 'message']) {
      const reply = await send({ [field]: 'Visit https://evil.example/x' });
      assertRefused(reply, 400, 'validation_error', field);
    }
    const foreign = await service.call('POST', `/cancel/${companyAddress(companyId)}/declarations`, {
      ...{ key: null, headers: { origin: 'https://evil.example' } },
      body: { request: randomUUID(), name: 'Ada', email: someEmail(), contract: 'Tea' },
    });
    assertRefused(foreign, 400, 'invalid_request');
  });

  it('write nothing to a stranger that a mail program would turn into a link', async () => {
    const email = someEmail();
    await send({
      email,
      name: 'Win at evil.example',
      contract: 'evil.example of 19.11.2026',
      message: 'Ｇｏ．ｅｖｉｌ．ｘｙ',
    });
    const [mail] = await mailsTo(email);
    assert.doesNotMatch((mail?.body ?? '').replaceAll(email, '').normalize('NFKC'), /\w\.\w|Win at/);
    assert.match(mail?.body ?? '', /Order number or subscription: evil\. example of 19\. 11\. 2026\n/);
    const [declared] = await listed(email);
    assert.deepEqual(
      [declared?.name, declared?.contract, declared?.message],
      ['Win at evil.example', 'evil.example of 19.11.2026', 'Ｇｏ．ｅｖｉｌ．ｘｙ'],
    );
  });

  it('limit what comes from one network, and for one email address', async () => {
    const address = nextAddress();
    const email = someEmail();
    const { count } = limits.declarationsPerAddress;
    const statuses: number[] = [];
    for (let number = 0; number <= count; number += 1) statuses.push((await send({}, { address })).status);
    assert.deepEqual([statuses.filter((status) => status === 201).length, statuses.at(-1)], [count, 429]);
    const ofDay = limits.declarationsPerAddressAndDay.count;
    let sent = count;
    for (; sent < ofDay + count; sent += 1) {
      if (sent % count === 0) service.clock.advance(limits.declarationsPerAddress.windowSeconds * 1000);
      if ((await send({}, { address })).status === 429) break;
    }
    assert.ok(sent < ofDay + 5, `${sent} a day`);
    const toOne: number[] = [];
    for (let number = 0; number <= limits.declarationsPerEmail.count; number += 1) {
      toOne.push((await send({ email })).status);
    }
    assert.equal(toOne.at(-1), 429);
    assert.equal((await mailsTo(email)).length, limits.declarationsPerEmail.count);
  });
});
