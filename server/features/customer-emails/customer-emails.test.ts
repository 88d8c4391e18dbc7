import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { cards, created, dayMs, everyDays, moveTo, openScene, type Scene } from '../../../tests/support/billing.ts';
import { type Person, signUp } from '../../../tests/support/dashboard.ts';
import {
  assertRefused,
  checkAllOpen,
  contextOf,
  openShop,
  refund,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';
import { createLog } from '../../platform/log.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import type { Mailer, MailContent } from '../../platform/mail/mailer.ts';
import { smtpMailer } from '../../platform/mail/smtp.ts';
import type { RequestContext } from '../../request-context.ts';
import { customerPageLink } from '../customer-sessions/service.ts';
import { removeExpiredLinks, sendDueMails } from '../mails/jobs.ts';
import { contentOf, mailsToday, stateOf, writeLinkMail } from '../mails/service.ts';
import { changeProfile } from '../profile/service.ts';
import { addActive } from '../team/service.ts';
import { makeCustomerEmails, makeReminders } from './jobs.ts';
import { logLine } from '../../../tests/support/log-lines.ts';

interface Row extends Record<string, unknown> {
  company_id: string;
  id: string;
  kind: string;
  occasion: string;
  recipient: string;
  subject: string;
  body: string;
  sealed_body: Buffer | null;
  sent_at: Date | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  attempts: number;
}

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  await joinTeam(shop.customerId);
  await made();
});
after(() => service.stop());

/** A worker that was just started: it remembers nothing. */
const worker = () => ({ name: service.company.shard, db: { ...service.db }, clock: service.clock, log: silentLog });
const links = () => ({
  baseUrl: 'https://pay.example.com',
  linkKey: service.linkKey,
  mailKey: service.mailKey,
  clock: service.clock,
  customerPageLink: async (context: RequestContext, { id: customerId }: { id: string }): Promise<string | undefined> =>
    (await customerPageLink(context, { baseUrl: 'https://pay.example.com' }, { customerId }))?.url,
});
/** A worker that cannot read the profile of this company. */
const withoutProfile = (companyId: string) => {
  const { db, ...rest } = worker();
  const query: typeof db.query = (text, values) =>
    text.includes('FROM company_profiles') && values?.includes(companyId)
      ? Promise.reject(new Error('the profile cannot be read'))
      : db.query(text, values);
  return { ...rest, db: { ...db, query } };
};
/** No receipt can be linked. */
const failing = () => ({ ...links(), linkKey: { ...service.linkKey, hash: () => assert.fail('no key') } });
const made = (): Promise<unknown> => makeCustomerEmails(worker(), links());

const mailsOf = (companyId = service.company.id): Promise<Row[]> =>
  service.db.query<Row>('SELECT * FROM mails WHERE company_id = $1 AND kind IS NOT NULL ORDER BY id', [companyId]);
const opened = (row: Row): MailContent => contentOf(service.mailKey, row);

/** A sandbox sends emails only to members of its team. */
async function joinTeam(customerId: string): Promise<void> {
  const { email } = (await service.call('GET', `/v1/customers/${customerId}`)).body;
  const person = { email, first_name: 'Ada', last_name: 'Lovelace' };
  await addActive(service.db, service.company.id, Date.now(), person, 'Viewer');
}

async function mailAbout(occasion: string, companyId?: string): Promise<Row> {
  const row = (await mailsOf(companyId)).find((one) => one.occasion === occasion);
  assert.ok(row, `there is no email for: ${occasion}`);
  return row;
}

describe('the receipt of an order', () => {
  it('is written once, also when several workers read the same event, and again later', async () => {
    const { id } = await succeeded(service, shop);
    await Promise.all([made(), made(), made()]);
    await made();
    const mails = (await mailsOf()).filter(({ occasion }) => occasion === `receipt ${id}`);
    assert.equal(mails.length, 1);
    assert.equal(mails[0]?.kind, 'order_receipt');
    assert.match(mails[0]?.subject ?? '', /^Your receipt from .*, R-\d{6}$/);
    const { text, html = '' } = opened(mails[0]);
    for (const part of ['$49.00', 'Visa ending in 4242', 'https://pay.example.com/receipts/']) {
      assert.ok(text.includes(part) && html.includes(part), part);
    }
  });

  it('keeps no link that opens anything in the database', async () => {
    const { id } = await succeeded(service, shop);
    await made();
    const row = await mailAbout(`receipt ${id}`);
    assert.doesNotMatch(row.body, /https?:/);
    assert.match(row.body, /View receipt \(PDF\): \[link removed\]/);
    assert.ok(row.sealed_body);
  });

  it('repeats no name that leads to another site, in the email or on the receipt', async () => {
    const rename = (first_name: string): Promise<Reply> =>
      service.call('PATCH', `/v1/customers/${shop.customerId}`, { body: { first_name } });
    const written = async (): Promise<{ text: string; html: string; pdf: string }> => {
      const { id } = await succeeded(service, shop);
      await made();
      const { text, html = '' } = opened(await mailAbout(`receipt ${id}`));
      const { pathname, search } = new URL(/https:\S+\/receipts\/\S+/.exec(text)?.[0] ?? '');
      const receipt = await fetch(service.baseUrl + pathname + search);
      const pages = await readPages(Buffer.from(await receipt.arrayBuffer()));
      return { text, html, pdf: pages.map((page) => page.text).join('\n') };
    };
    for (const name of ['Win at evil.example/x', 'evil。example', 'evil[.]example']) {
      assert.equal((await rename(name)).status, 200);
      const { text, html, pdf } = await written();
      assert.match(text, /^Hello,$/m);
      assert.match(html, />Hello,</);
      for (const part of [text, html, pdf]) assert.doesNotMatch(part, /evil/);
      assert.match(pdf, /Billed to/);
    }
    await rename('J. R. R.');
    const { text, pdf } = await written();
    assert.match(text, /^Hello J\. R\. R\.,$/m);
    assert.match(pdf, /J\. R\. R\. Lovelace/);
    await rename('Ada');
  });

  it('has a receipt that does not show a new email address to the reader of the old mailbox', async () => {
    const { id } = await succeeded(service, shop);
    await made();
    const { text } = opened(await mailAbout(`receipt ${id}`));
    const link = new URL(/https:\S+\/receipts\/\S+/.exec(text)?.[0] ?? '');
    const shown = async ({ pathname, search }: URL): Promise<string> => {
      const receipt = await fetch(service.baseUrl + pathname + search);
      assert.equal(receipt.status, 200);
      return (await readPages(Buffer.from(await receipt.arrayBuffer()))).map((page) => page.text).join('\n');
    };
    const { body: customer } = await service.call('GET', `/v1/customers/${shop.customerId}`);
    const changeTo = (email: string): Promise<Reply> =>
      service.call('PATCH', `/v1/customers/${shop.customerId}`, { body: { email } });
    assert.ok((await shown(link)).includes(customer.email));
    assert.equal((await changeTo('new-mailbox@example.com')).status, 200);
    assert.doesNotMatch(await shown(link), /new-mailbox|Billed to/);
    const { body: fromApi } = await service.call('GET', `/v1/orders/${id}/receipt`);
    assert.match(await shown(new URL(fromApi.url)), /new-mailbox@example\.com/);
    for (const reader of [undefined, 'x', new URL(fromApi.url).searchParams.get('signature') ?? '']) {
      const changed = new URL(link);
      changed.searchParams.delete('reader');
      if (reader !== undefined) changed.searchParams.set('reader', reader);
      assert.equal((await fetch(service.baseUrl + changed.pathname + changed.search)).status, 400);
    }
    await changeTo(customer.email);
    assert.ok((await shown(link)).includes(customer.email));
  });

  it('is not written for events from before emails were turned on, nor while they are off', async () => {
    const other = await service.createMerchant();
    const theirs = await openShop(service, undefined, { key: other.key });
    const context = contextOf(service, other.sandbox);
    await changeProfile(context, { emails: { enabled: false } });
    await succeeded(service, theirs, { key: other.key });
    await made();
    assert.deepEqual(await mailsOf(other.sandbox.id), []);
    await changeProfile(context, { emails: { enabled: true } });
    await made();
    assert.deepEqual(await mailsOf(other.sandbox.id), []);
    await succeeded(service, theirs, { key: other.key });
    await made();
    assert.equal((await mailsOf(other.sandbox.id)).length, 1);
    await changeProfile(context, { emails: { order_receipt: false } });
    await succeeded(service, theirs, { key: other.key });
    await made();
    assert.equal((await mailsOf(other.sandbox.id)).length, 1);
  });

  it('does not count against the limit of invitations', async () => {
    assert.ok((await mailsOf()).length > 0);
    assert.equal(await mailsToday(service.db, service.company.id), 0);
  });

  it('is found although its event was committed after later ones', async () => {
    const { id } = await succeeded(service, shop);
    const first = worker();
    await service.db.query(
      `UPDATE events SET type = 'order.hidden' WHERE object_id = $1 AND type = 'order.succeeded'`,
      [id],
    );
    const { id: later } = await succeeded(service, shop);
    await makeCustomerEmails(first, links());
    await mailAbout(`receipt ${later}`);
    await service.db.query(`UPDATE events SET type = 'order.succeeded' WHERE type = 'order.hidden'`);
    await makeCustomerEmails(first, links());
    await mailAbout(`receipt ${id}`);
  });
});

describe('the cursor of a company', () => {
  const cursor = async (): Promise<string> => {
    const [row] = await service.db.query<{ after_id: string }>(
      'SELECT after_id FROM email_cursors WHERE company_id = $1',
      [service.company.id],
    );
    return row?.after_id ?? '';
  };
  const settle = (): Promise<unknown> =>
    service.db.query(`UPDATE events SET inserted_at = inserted_at - interval '10 minutes' WHERE company_id = $1`, [
      service.company.id,
    ]);

  it('waits for transactions that may still be open, and then passes events of every type', async () => {
    const { id } = await succeeded(service, shop);
    await made();
    await mailAbout(`receipt ${id}`);
    const before = await cursor();
    await made();
    assert.equal(await cursor(), before);
    await service.call('PATCH', `/v1/customers/${shop.customerId}`, { body: { first_name: 'Adele' } });
    await settle();
    await made();
    const [last] = await service.db.query<{ id: string }>(
      'SELECT max(id::text) AS id FROM events WHERE company_id = $1',
      [service.company.id],
    );
    assert.equal(await cursor(), last?.id);
  });

  it('does not pass an event whose email could not be written', async () => {
    const { id } = await succeeded(service, shop);
    await settle();
    const before = await cursor();
    await makeCustomerEmails(worker(), failing());
    assert.equal(await cursor(), before);
    await made();
    await mailAbout(`receipt ${id}`);
    assert.ok((await cursor()) > before);
  });

  it('waits two days for an email that cannot be written, longer than the daily limit lasts', async () => {
    await made();
    await settle();
    await made();
    await succeeded(service, shop);
    const before = await cursor();
    const age = (hours: number): Promise<unknown> =>
      service.db.query(
        `UPDATE events SET inserted_at = now() - $2 * interval '1 hour' WHERE company_id = $1 AND id > $3`,
        [service.company.id, hours, before],
      );
    await service.db.query(`UPDATE email_cursors SET after_at = now() - interval '3 days' WHERE company_id = $1`, [
      service.company.id,
    ]);
    await age(47);
    await makeCustomerEmails(worker(), failing());
    assert.equal(await cursor(), before);
    await age(49);
    await makeCustomerEmails(worker(), failing());
    assert.ok((await cursor()) > before);
  });
});

describe('emails that cannot be written', () => {
  const copies = 250;
  const withCopies = async (): Promise<string> => {
    const { id } = await succeeded(service, shop);
    await service.db.query(
      `INSERT INTO events SELECT (jsonb_populate_record(e, jsonb_build_object('id',
         left(e.id::text, 24) || lpad(to_hex(n), 12, '0')))).*
       FROM events e, generate_series(1, $2) n WHERE object_id = $1 AND type = 'order.succeeded'`,
      [id, copies],
    );
    return id;
  };

  it('are tried again later and not at once, with one line in the log for each round', async () => {
    const id = await withCopies();
    const lines: string[] = [];
    const failedWorker = { ...worker(), log: createLog('info', { write: (line: string) => void lines.push(line) }) };
    for (let round = 1; round <= 3; round += 1) {
      assert.equal(await makeCustomerEmails(failedWorker, failing()), 'idle', `round ${round}`);
      assert.equal(lines.length, round);
    }
    assert.ok(Number(logLine(lines[0] ?? '').attributes['svc.failed']) > copies);
    await made();
    await mailAbout(`receipt ${id}`);
  });

  it('because of the daily limit wait, tried once a minute, and are written when there is room', async () => {
    const id = await withCopies();
    const lines: string[] = [];
    const { db, ...rest } = worker();
    const query: typeof db.query = (text, values) =>
      db.query(
        /count\(\*\).* FROM mails/.test(text)
          ? `SELECT ${limits.customerEmailsPerDay.sandbox} AS count, $1::uuid`
          : text,
        values,
      );
    const full = { ...rest, db: { ...db, query }, log: createLog('info', { write: (line) => void lines.push(line) }) };
    for (let round = 1; round <= 3; round += 1) assert.equal(await makeCustomerEmails(full, links()), 'idle');
    assert.deepEqual(
      lines.map((line) => logLine(line).attributes['svc.failed']),
      [1],
    );
    await made();
    await mailAbout(`receipt ${id}`);
  });

  it('keep no other company from its emails', async () => {
    const other = await service.createMerchant();
    const context = contextOf(service, other.sandbox);
    await changeProfile(context, { emails: { enabled: true } });
    const theirs = await openShop(service, undefined, { key: other.key });
    await made();
    const mine = await succeeded(service, shop);
    await succeeded(service, theirs, { key: other.key });
    await makeCustomerEmails(withoutProfile(service.company.id), links());
    assert.equal((await mailsOf(other.sandbox.id)).length, 1);
    await succeeded(service, theirs, { key: other.key });
    await makeCustomerEmails(withoutProfile(other.sandbox.id), links());
    await mailAbout(`receipt ${mine.id}`);
    assert.equal((await mailsOf(other.sandbox.id)).length, 1);
  });
});

describe('a refund', () => {
  it('has an email of its own for each', async () => {
    const { id } = await succeeded(service, shop);
    for (const amount of [1000, 500]) {
      await refund(service, id, amount);
      await checkAllOpen(service);
    }
    await made();
    const mails = (await mailsOf()).filter((row) => row.object_id === id && row.kind === 'refund_receipt');
    const amounts = new Set(mails.map(({ subject }) => /\$[\d.]+/.exec(subject)?.[0]));
    assert.deepEqual(amounts, new Set(['$10.00', '$5.00']));
    assert.equal(mails.length, 2);
  });
});

describe('a subscription', () => {
  async function sending(number?: string, emails: object = {}, plan: object = {}): Promise<Scene> {
    const scene = await openScene(service, { billing_cycle: everyDays(20), ...plan }, number);
    await changeProfile(contextOf(service, scene.company), { emails: { enabled: true, ...emails } });
    await made();
    return scene;
  }
  const kindsOf = async ({ company }: Scene): Promise<string[]> =>
    (await mailsOf(company.id)).map(({ kind }) => kind).toSorted();
  const inDays = (days: number): string => new Date(Date.now() + days * dayMs + 60_000).toISOString();
  const moveClock = ({ company }: Scene): Promise<unknown> =>
    service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [company.id, 18 * dayMs]);
  const remind = (): Promise<void> => makeReminders(worker(), links());

  it('has a receipt for the first charge, with the setup fee, and one for each renewal', async () => {
    const scene = await sending(undefined, {}, { one_time_amount: 500 });
    await created(service, scene);
    await moveTo(service, scene.key, inDays(20));
    await made();
    assert.deepEqual(await kindsOf(scene), ['order_receipt', 'renewal_receipt']);
    for (const row of await mailsOf(scene.company.id))
      assert.match(opened(row).text, /^Tea of the month.*: \$19\.00$/m);
    const feeOf = async (kind: string): Promise<string | undefined> => {
      const row = (await mailsOf(scene.company.id)).find((one) => one.kind === kind);
      assert.ok(row);
      return /^Setup fee: (.*)$/m.exec(opened(row).text)?.[1];
    };
    assert.deepEqual([await feeOf('order_receipt'), await feeOf('renewal_receipt')], ['$5.00', undefined]);
  });

  it('whose renewal is declined asks for another card at each attempt, and ends with one notice', async () => {
    const scene = await sending(cards.declinesAfterFirst);
    const { id } = await created(service, scene);
    await moveTo(service, scene.key, inDays(20));
    await made();
    const [failed] = (await mailsOf(scene.company.id)).filter(({ kind }) => kind === 'payment_failed');
    assert.ok(failed);
    const { text } = opened(failed);
    assert.match(text, /Reason: The card does not have enough funds\.|Reason: /);
    assert.match(text, /Amount: \$19\.00/);
    assert.match(text, /Next attempt: \w+ \d+, \d{4}/);
    const [, link = ''] = /Update card: https:\/\/pay\.example\.com(\S+)/.exec(text) ?? [];
    const page = await fetch(`${service.baseUrl}${link}/account`);
    assert.equal(page.status, 200, 'the link opens the page of the customer');
    await moveTo(service, scene.key, inDays(30));
    await made();
    const kinds = await kindsOf(scene);
    assert.equal(kinds.filter((kind) => kind === 'final_notice').length, 1);
    await mailAbout(`ended ${id} 2`, scene.company.id);
    await made();
    assert.deepEqual(await kindsOf(scene), kinds);
  });

  it('whose renewal the bank wants to confirm asks for that, and not for another card', async () => {
    const scene = await sending(cards.declinesAfterFirst);
    await created(service, scene);
    await moveTo(service, scene.key, inDays(20));
    const url = 'https://pay.example.com/confirm/the-token';
    await service.db.query(
      `UPDATE events SET object = (object::jsonb || jsonb_build_object('authentication_url', $2::text))::json
       WHERE company_id = $1 AND type = 'order.failed'`,
      [scene.company.id, url],
    );
    await made();
    const row = (await mailsOf(scene.company.id)).find(({ kind }) => kind === 'payment_failed');
    assert.ok(row);
    assert.match(row.subject, /^Confirm your payment to /);
    const { text, html = '' } = opened(row);
    assert.match(text, /Your bank wants to confirm this payment/);
    assert.match(text, /Please confirm it with your bank until \w+ \d+, \d{4}\. You pay once\./);
    assert.ok(text.includes(`Confirm with your bank: ${url}`) && html.includes(url), text);
    assert.doesNotMatch(text, /Update card|another card|Reason/);
  });

  it('that is canceled is confirmed', async () => {
    const scene = await sending();
    const { id } = await created(service, scene);
    await service.call('DELETE', `/v1/subscriptions/${id}`, { key: scene.key });
    await made();
    assert.deepEqual(await kindsOf(scene), ['order_receipt', 'subscription_canceled']);
  });

  it('is announced before it renews, if the merchant asks for it, once', async () => {
    const scene = await sending(undefined, { upcoming_renewal: true, upcoming_renewal_days: 3, order_receipt: false });
    await created(service, scene);
    await remind();
    assert.deepEqual(await kindsOf(scene), []);
    await moveTo(service, scene.key, inDays(18));
    await remind();
    await remind();
    assert.deepEqual(await kindsOf(scene), ['upcoming_renewal']);
    const [row] = await mailsOf(scene.company.id);
    const { text, unsubscribeUrl = '' } = opened(row as Row);
    assert.match(text, /We will charge \$19\.00/);
    assert.match(unsubscribeUrl, /^https:\/\/pay\.example\.com\/unsubscribe\//);
  });

  it('is announced although hundreds that get no email renew before it', async () => {
    const scene = await sending(undefined, { upcoming_renewal: true, upcoming_renewal_days: 3, order_receipt: false });
    const { id } = await created(service, scene);
    const free = { percentage: 100, amount: null, max_discount_amount: null, duration: 'forever' };
    await service.db.query(
      `INSERT INTO subscriptions SELECT (jsonb_populate_record(s, jsonb_build_object(
         'id', '00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'), 'due_at', s.due_at - interval '1 hour', 'coupon', $2::jsonb))).*
       FROM subscriptions s, generate_series(1, 450) n WHERE s.id = $1`,
      [id, JSON.stringify(free)],
    );
    await moveClock(scene);
    await remind();
    assert.deepEqual(
      (await mailsOf(scene.company.id)).map((row) => row.object_id),
      [id],
    );
  });

  it('is announced although another company cannot be reminded, or another subscription', async () => {
    const emails = { upcoming_renewal: true, upcoming_renewal_days: 3, order_receipt: false };
    const scenes = [await sending(undefined, emails), await sending(undefined, emails)];
    for (const scene of scenes) {
      const [broken] = [await created(service, scene), await created(service, scene)];
      await service.db.query(
        `UPDATE subscriptions SET coupon = '{"percentage": "broken", "duration": "forever"}' WHERE id = $1`,
        [broken.id],
      );
      await moveClock(scene);
    }
    for (const { company } of scenes) await makeReminders(withoutProfile(company.id), links());
    for (const scene of scenes) assert.deepEqual(await kindsOf(scene), ['upcoming_renewal']);
  });

  it('reminds of a card that expires next month, unless the customer has stopped optional emails', async () => {
    const expiring = async (): Promise<Scene> => {
      const scene = await sending(undefined, { order_receipt: false });
      await created(service, scene);
      // The fifth of a month, and a card that expires in the next.
      const at = new Date();
      const fifth = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 5));
      const expires = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 2));
      await service.db.query('UPDATE payment_methods SET exp_year = $2, exp_month = $3 WHERE company_id = $1', [
        scene.company.id,
        expires.getUTCFullYear(),
        expires.getUTCMonth() + 1,
      ]);
      await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [
        scene.company.id,
        fifth.getTime() - Date.now(),
      ]);
      return scene;
    };
    const [one, other] = [await expiring(), await expiring()];
    await service.db.query('INSERT INTO email_opt_outs (company_id, customer_id) VALUES ($1, $2)', [
      other.company.id,
      other.customer_id,
    ]);
    await remind();
    await remind();
    assert.deepEqual(await kindsOf(one), ['card_expiring']);
    assert.deepEqual(await kindsOf(other), []);
  });
});

interface Received {
  readonly to: string;
  readonly text: string;
}

/** A mail server that keeps what it gets. */
async function withServer(
  use: (mailer: Mailer, received: Received[]) => Promise<void>,
  refusal?: { message: string; responseCode: number },
): Promise<void> {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) =>
      done(refusal ? Object.assign(new Error(refusal.message), { responseCode: refusal.responseCode }) : null),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const [to] = session.envelope.rcptTo;
        received.push({ to: to?.address ?? '', text: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as { port: number };
  const mailer = smtpMailer(`smtp://127.0.0.1:${port}`, 'Payments <svc@example.com>');
  try {
    await use(mailer, received);
  } finally {
    await mailer.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** No email that exists is due any more. */
const quiet = async (): Promise<void> => {
  await service.db.query('UPDATE mails SET next_attempt_at = NULL');
};
const send = (mailer: Mailer): Promise<number> =>
  sendDueMails(service.db, mailer, service.mailKey, silentLog, 50, { toCustomers: true });

describe('sending', () => {
  it('uses the name and the reply address of the merchant, and both HTML and text', async () => {
    await quiet();
    await changeProfile(contextOf(service), {
      display_name: 'Ada "&" Söhne',
      support_email: 'help@shop.example',
      address: { line1: '1 Main St', city: 'Austin', state: 'TX', postal_code: '78701', country: 'US' },
      emails: { reply_to: 'billing@shop.example' },
    });
    const { id } = await succeeded(service, shop);
    await made();
    await withServer(async (mailer, received) => {
      assert.equal(await sendDueMails(service.db, mailer, service.mailKey, silentLog, 50), 0, 'mails to teams only');
      assert.equal(await send(mailer), 1);
      const { text } = received[0] as Received;
      assert.match(text, /^From: .*<svc@example\.com>$/m);
      assert.match(text, /^From: =\?UTF-8\?|^From: "?Ada/m);
      assert.match(text, /^Reply-To: billing@shop\.example$/m);
      assert.match(text, /^Content-Type: multipart\/alternative/m);
      assert.match(text, /^Auto-Submitted: auto-generated$/m);
      assert.doesNotMatch(text, /^List-Unsubscribe/m, 'a receipt cannot be unsubscribed from');
      assert.ok(text.indexOf('text/plain') < text.indexOf('text/html'));
      assert.match(text.replaceAll(/=\r?\n/g, ''), /1 Main St, Austin, TX 78701, United States/);
    });
    const row = await mailAbout(`receipt ${id}`);
    assert.ok(row.sent_at && !row.sealed_body);
    assert.equal(row.body, '', 'the text is deleted when the email is sent');
  });

  it('happens once although the worker dies after it has taken the email', async () => {
    await quiet();
    const { id } = await succeeded(service, shop);
    await made();
    await withServer(async (mailer, received) => {
      const dying: Mailer = { ...mailer, send: () => new Promise<never>(() => undefined) };
      void send(dying);
      const isTaken = async (): Promise<boolean> => (await mailAbout(`receipt ${id}`)).attempts === 1;
      while (!(await isTaken())) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(await send(mailer), 0, 'another worker leaves it alone for a while');
      await service.db.query('UPDATE mails SET next_attempt_at = now() WHERE occasion = $1', [`receipt ${id}`]);
      assert.equal(await send(mailer), 1);
      assert.equal(await send(mailer), 0);
      assert.equal(received.length, 1);
      await made();
      assert.equal(await send(mailer), 0);
    });
  });

  it('gives up at once when the server refuses the address, and the dashboard shows what it said', async () => {
    const owner = await signUp(service);
    await made();
    await quiet();
    const id = await paidBy(owner);
    await made();
    await withServer(async (mailer) => assert.equal(await send(mailer), 1), {
      message: 'No such mailbox',
      responseCode: 550,
    });
    const { body } = await owner.in('GET', '/dashboard/customer_emails?state=failed');
    assert.equal(body.data.length, 1);
    const [mail] = body.data;
    assert.deepEqual([mail.kind, mail.state, mail.object_id, mail.attempts], ['order_receipt', 'failed', id, 1]);
    assert.match(mail.error, /550.*No such mailbox|No such mailbox/);
    assert.deepEqual((await owner.in('GET', '/dashboard/customer_emails?state=sent')).body.data, []);
    const other = await signUp(service);
    assert.deepEqual((await other.in('GET', '/dashboard/customer_emails')).body.data, []);
  });

  it('reaches no customer of a sandbox, only members of its team; the email is kept', async () => {
    await quiet();
    const stranger = await openShop(service);
    const { id } = await succeeded(service, stranger);
    const { email } = (await service.call('GET', `/v1/customers/${stranger.customerId}`)).body;
    await made();
    const asked = { recipient: email, subject: 'Your page', body: (link: string) => link, toCustomer: true };
    const link = {
      url: 'https://pay.example.com/x',
      for: stranger.customerId,
      expiresAt: new Date(Date.now() + dayMs),
    };
    await writeLinkMail(service.db, service.mailKey, service.company.id, Date.now(), { ...asked, link });
    await withServer(async (mailer, received) => {
      assert.equal(await send(mailer), 0);
      assert.equal(received.length, 0);
      await service.db.query(`UPDATE mails SET link_expires_at = now() WHERE recipient = $1`, [email]);
      await removeExpiredLinks(service.db);
      const row = await mailAbout(`receipt ${id}`);
      assert.deepEqual(
        [row.next_attempt_at, row.last_error, row.sealed_body, stateOf(row)],
        [null, null, null, 'kept'],
      );
      await joinTeam(stranger.customerId);
      await succeeded(service, stranger);
      await made();
      assert.equal(await send(mailer), 1, 'a member of the team is sent the email');
    });
  });

  it('lets no text of a merchant or customer begin a header', async () => {
    await withServer(async (mailer, received) => {
      await mailer.send({
        id: 'x',
        recipient: 'ada@example.com',
        subject: 'Receipt\r\nBcc: eve@example.com\r\n\r\n<script>',
        text: 'text',
        html: '<p>text</p>',
        fromName: 'Ada\r\nBcc: eve@example.com',
        replyTo: 'ada@example.com',
        unsubscribeUrl: 'https://pay.example.com/unsubscribe/x',
      });
      const [head = ''] = (received[0] as Received).text.split('\r\n\r\n');
      assert.doesNotMatch(head, /^Bcc:/im);
      assert.match(head, /^List-Unsubscribe: <https:\/\/pay\.example\.com\/unsubscribe\/x>$/m);
      assert.match(head, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
    });
  });
});

/** Creates a paid order in the sandbox of a person, by the dashboard. The person is also the customer, to whom a sandbox sends emails. */
async function paidBy(person: Person): Promise<string> {
  const { body: customer } = await person.in('POST', '/v1/customers', {
    email: person.email,
    first_name: 'Cleo <b>',
    last_name: 'Patra',
    phone: '+15551230000',
  });
  const product = await person.in(
    'POST',
    '/v1/products',
    {
      name: 'Needle',
      description: 'Tall.',
      pricing: { amount: 700, currency: 'usd' },
      requires_shipping: false,
      sku: 'needle',
    },
    { idempotencyKey: 'product' },
  );
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
  await person.in('POST', '/capture', { customer_id: customer.id, card });
  const order = await person.in(
    'POST',
    '/v1/orders',
    { customer_id: customer.id, items: [{ product_id: product.body.id, quantity: 1 }] },
    { idempotencyKey: 'order' },
  );
  assert.equal(order.body.status, 'succeeded', order.text);
  return order.body.id;
}

describe('the link to stop optional emails', () => {
  const unsubscribeUrl = async (): Promise<string> => {
    const { id } = await succeeded(service, shop);
    await made();
    const [, path = ''] =
      /https:\/\/pay\.example\.com(\/unsubscribe\/\S+)/.exec(opened(await mailAbout(`receipt ${id}`)).text) ?? [];
    return service.baseUrl + path;
  };
  const optedOut = async (): Promise<number> =>
    (await service.db.query('SELECT 1 FROM email_opt_outs WHERE customer_id = $1', [shop.customerId])).length;

  it('asks first, and stops them with the button or with the POST of a mail program', async () => {
    const url = await unsubscribeUrl();
    const asked = await fetch(url);
    assert.equal(asked.status, 200);
    assert.match(await asked.text(), /<form method="post">/);
    assert.match(asked.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.equal(await optedOut(), 0, 'programs that check links must not unsubscribe');
    const clicked = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    assert.equal(clicked.status, 200);
    assert.equal(await optedOut(), 1);
    assert.equal((await fetch(url, { method: 'POST' })).status, 200, 'again');
  });

  it('does nothing for another customer, or with another signature', async () => {
    const url = new URL(await unsubscribeUrl());
    const other = await openShop(service);
    const forged = new URL(url);
    forged.pathname = forged.pathname.replace(shop.customerId, other.customerId);
    for (const link of [forged, `${url.origin}${url.pathname}?expires=9999999999&signature=x`]) {
      assert.equal((await fetch(link, { method: 'POST' })).status, 400);
    }
    const rows = await service.db.query('SELECT 1 FROM email_opt_outs WHERE customer_id = $1', [other.customerId]);
    assert.equal(rows.length, 0);
  });
});

describe('the preview', () => {
  it('shows every email with a real order, in a frame that runs nothing, and gives no receipt a number', async () => {
    const owner = await signUp(service);
    await owner.in('PATCH', '/dashboard/profile', { display_name: '<img src=x onerror=alert(1)>' });
    const id = await paidBy(owner);
    const preview = (kind: string): Promise<Reply> =>
      owner.in('GET', `/dashboard/customer_emails/preview/${id}?kind=${kind}`);
    const kinds = ['order_receipt', 'refund_receipt', 'renewal_receipt', 'payment_failed', 'final_notice'];
    for (const kind of [...kinds, 'card_expiring', 'subscription_canceled', 'upcoming_renewal']) {
      const { status, body } = await preview(kind);
      assert.equal(status, 200, kind);
      const shown = await fetch(service.baseUrl + body.url);
      const html = await shown.text();
      assert.equal(shown.status, 200);
      assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox$/);
      assert.match(html, /Hello Cleo &lt;b&gt;,/);
      assert.doesNotMatch(html, /<img src=x|<b>,|<script/);
    }
    assert.equal((await service.db.query('SELECT 1 FROM receipts WHERE order_id = $1', [id])).length, 0);
    const { url } = (await preview('order_receipt')).body;
    assert.equal((await fetch(service.baseUrl + url.replace('order_receipt', 'final_notice'))).status, 400);
    const other = await signUp(service);
    assertRefused(await other.in('GET', `/dashboard/customer_emails/preview/${id}`), 404, 'resource_not_found');
  });
});

describe('the mailbox', () => {
  it('shows an email with its HTML in a sandboxed frame', async () => {
    const { id } = await succeeded(service, shop);
    await made();
    const row = await mailAbout(`receipt ${id}`);
    const page = await (await fetch(`${service.baseUrl}/mailbox`)).text();
    assert.match(page, new RegExp(`<iframe src="/mailbox/${row.id}" sandbox="allow-popups`));
    const shown = await fetch(`${service.baseUrl}/mailbox/${row.id}`);
    const policy = shown.headers.get('content-security-policy') ?? '';
    assert.match(
      policy,
      /^default-src 'none';.*frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox$/,
    );
    assert.doesNotMatch(policy, /script|allow-same-origin|https:/);
    assert.match(await shown.text(), /You paid \$49\.00/);
    assert.equal((await fetch(`${service.baseUrl}/mailbox/${shop.customerId}`)).status, 404);
  });
});
