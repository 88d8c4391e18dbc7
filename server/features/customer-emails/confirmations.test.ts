import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answered, pathOf } from '../../../tests/support/confirmations.ts';
import { bankCards } from '../../../tests/support/bank.ts';
import { contextOf, openShop, order } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import type { RequestContext } from '../../request-context.ts';
import { customerPageLink } from '../customer-sessions/service.ts';
import { contentOf } from '../mails/service.ts';
import { changeProfile } from '../profile/service.ts';
import { makeCustomerEmails } from './jobs.ts';

/** Emails about orders of the API that the bank wants to confirm while the customer is absent. */

const baseUrl = 'https://pay.example.com';

let service: TestService;
before(async () => {
  service = await startTestService({
    settings: { SVC_RATE_LIMIT_CAPTURE: 'off', SVC_RATE_LIMIT_REFUSED_CARDS: 'off' },
  });
  await service.db.query('UPDATE companies SET authenticates = true WHERE id = $1', [service.company.id]);
  await changeProfile(contextOf(service), { emails: { enabled: true } });
  await made();
});
after(() => service.stop());

const made = (): Promise<unknown> => {
  const { db, clock, linkKey, mailKey, company } = service;
  const pageOf = async (context: RequestContext, { id: customerId }: { id: string }): Promise<string | undefined> =>
    (await customerPageLink(context, { baseUrl }, { customerId }))?.url;
  const worker = { name: company.shard, db: { ...db }, clock, log: silentLog };
  return makeCustomerEmails(worker, { baseUrl, linkKey, mailKey, clock, customerPageLink: pageOf });
};

/** The bank wants to ask. The sandbox charges a card that has a mandate without asking, so that the order says it afterwards. */
async function declined(isAbsent: boolean): Promise<Reply['body']> {
  const { body } = await order(service, await openShop(service, bankCards.challenge));
  assert.ok(body.authentication_url);
  if (isAbsent) await service.db.query('UPDATE orders SET off_session = true WHERE id = $1', [body.id]);
  return body;
}

interface Mail extends Record<string, unknown> {
  readonly company_id: string;
  readonly id: string;
  readonly kind: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly sealed_body: Buffer | null;
}

const mailsAbout = ({ id }: Reply['body']): Promise<Mail[]> =>
  service.db.query<Mail>('SELECT * FROM mails WHERE company_id = $1 AND occasion LIKE $2', [
    service.company.id,
    `%${id}%`,
  ]);

describe('an order that the bank wants to confirm', () => {
  it('has one email with the way to the page, however often it is declined', async () => {
    const failed = await declined(true);
    await Promise.all([made(), made()]);
    await answered(service, pathOf(failed), 'refuse');
    await made();
    const mails = await mailsAbout(failed);
    assert.deepEqual(
      mails.map(({ kind }) => kind),
      ['payment_failed'],
    );
    const [row] = mails;
    assert.ok(row);
    assert.match(row.subject, /^Confirm your payment to /);
    const { text, html = '' } = contentOf(service.mailKey, row);
    const { authentication_url: url, items } = failed;
    assert.ok(text.includes(`Confirm with your bank: ${url}`) && html.includes(url), text);
    assert.ok(text.includes(`for ${items[0].name} with your Visa ending in 3315`), text);
    assert.match(text, /until \w+ \d+, \d{4}\. You pay once\./);
    assert.match(text, /Amount: \$49\.00/);
    assert.doesNotMatch(text, /Update card|Reason/);
    assert.ok(!row.body.includes(url), 'the database keeps no link that opens anything');
  });

  it('has none if the customer was there: the shop leads to the page', async () => {
    const failed = await declined(false);
    await made();
    assert.deepEqual(await mailsAbout(failed), []);
  });

  it('has none if it was confirmed meanwhile, or its time is over', async () => {
    const paid = await declined(true);
    await answered(service, pathOf(paid), 'confirm');
    const over = await declined(true);
    await service.db.query('UPDATE orders SET authentication_until = now() WHERE id = $1', [over.id]);
    await made();
    assert.deepEqual(
      (await mailsAbout(paid)).map(({ kind }) => kind),
      ['order_receipt'],
    );
    assert.deepEqual(await mailsAbout(over), []);
  });

  it('has none if the merchant has turned these emails off', async () => {
    await changeProfile(contextOf(service), { emails: { payment_failed: false } });
    const failed = await declined(true);
    await made();
    assert.deepEqual(await mailsAbout(failed), []);
  });
});
