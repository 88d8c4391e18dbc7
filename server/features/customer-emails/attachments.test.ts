import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { germanRate, numberNow, withInvoices } from '../../../tests/support/invoices.ts';
import { checkAllOpen, contextOf, openShop, refund, type Shop, succeeded } from '../../../tests/support/orders.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import type { Mailer } from '../../platform/mail/mailer.ts';
import { smtpMailer } from '../../platform/mail/smtp.ts';
import { type DocumentOf, documentsOf } from '../invoices/service.ts';
import { sendDueMails } from '../mails/jobs.ts';
import { openRenderer } from '../receipts/service.ts';
import { addActive } from '../team/service.ts';
import { makeCustomerEmails } from './jobs.ts';
import { getCustomerEmails } from './service.ts';

/** Emails about payments that carry the invoice or the credit note, through a mail server. */

let service: TestService;
let shop: Shop;
let mailer: Mailer;
let server: SMTPServer;
const renderer = openRenderer(undefined);
const received: string[] = [];

before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  const { email } = (await service.call('GET', `/v1/customers/${shop.customerId}`)).body;
  // A sandbox sends emails only to members of its team.
  await addActive(service.db, service.company.id, Date.now(), { email, first_name: 'Ada', last_name: 'L' }, 'Viewer');
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        received.push(Buffer.concat(chunks).toString('latin1'));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as { port: number };
  mailer = smtpMailer(`smtp://127.0.0.1:${port}`, 'Payments <svc@example.com>');
  await made();
});
after(async () => {
  await mailer.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await renderer.stop();
  await service.stop();
});
beforeEach(async () => {
  await withInvoices(service, service.company, { attach_to_emails: true, tax_rates: [germanRate] });
  await service.db.query('UPDATE mails SET next_attempt_at = NULL');
  received.length = 0;
});

const made = (): Promise<unknown> =>
  makeCustomerEmails(
    { name: service.company.shard, db: { ...service.db }, clock: service.clock, log: silentLog },
    {
      baseUrl: 'https://pay.example.com',
      linkKey: service.linkKey,
      mailKey: service.mailKey,
      clock: service.clock,
      customerPageLink: () => Promise.resolve(undefined),
    },
  );
const documents: DocumentOf = (companyId, id) =>
  documentsOf(service.db, (document, company) => renderer.render(document, company))(companyId, id);
const send = (through: Mailer = mailer, documentOf: DocumentOf = documents): Promise<number> =>
  sendDueMails(service.db, through, service.mailKey, silentLog, 50, { toCustomers: true, documentOf });
const numbered = (): Promise<void> => numberNow(service, service.company.id);

/** The PDFs of an email: name and text. */
async function pdfsIn(message: string): Promise<{ name: string; text: string }[]> {
  const parts = message.split(/^--.*\r?\n/m).filter((part) => /^Content-Type: application\/pdf/m.test(part));
  return Promise.all(
    parts.map(async (part) => {
      const [head = '', ...rest] = part.split('\r\n\r\n');
      assert.match(head, /^Content-Disposition: attachment/m);
      const pages = await readPages(Buffer.from(rest.join(''), 'base64'));
      return {
        name: /filename="?([^";\r\n]+)/.exec(head)?.[1] ?? '',
        text: pages.map((page) => page.text).join('\n'),
      };
    }),
  );
}

async function paid(): Promise<string> {
  const { id } = await succeeded(service, shop);
  await made();
  return id;
}

const invoicesOf = async (orderId: string): Promise<{ id: string; number: string; kind: string }[]> =>
  (await service.call('GET', `/v1/invoices?order_id=${orderId}&sort=created_at`)).body.data;

const due = (): Promise<unknown> => service.db.query('UPDATE mails SET next_attempt_at = now() WHERE sent_at IS NULL');

interface Written {
  readonly invoice_id: string | null;
  readonly sent_at: Date | null;
  readonly attempts: number;
}
async function mailAbout(occasion: string): Promise<Written> {
  const [row] = await service.db.query<Written>(
    'SELECT invoice_id, sent_at, attempts FROM mails WHERE company_id = $1 AND occasion = $2',
    [service.company.id, occasion],
  );
  assert.ok(row, occasion);
  return row;
}

describe('an email about a payment', () => {
  it('waits for the number of the invoice, and carries its PDF', async () => {
    const id = await paid();
    assert.equal(await send(), 0, 'not without its document');
    await numbered();
    assert.equal(await send(), 1);
    assert.equal(await send(), 0);
    const [invoice] = await invoicesOf(id);
    assert.match(received[0] ?? '', /^Content-Type: multipart\/mixed/m);
    const [pdf, ...more] = await pdfsIn(received[0] ?? '');
    assert.deepEqual([pdf?.name, more.length], [`${invoice?.number}.pdf`, 0]);
    assert.ok(pdf?.text.includes(invoice?.number ?? '?') && pdf.text.includes('Billed to'), pdf?.text);
    assert.equal((await mailAbout(`receipt ${id}`)).invoice_id, invoice?.id);
  });

  it('about a refund carries the credit note of that refund', async () => {
    const id = await paid();
    await numbered();
    await send();
    for (const amount of [1000, 500]) await refund(service, id, amount);
    await checkAllOpen(service);
    await made();
    assert.equal(await send(), 0);
    await numbered();
    assert.equal(await send(), 2);
    const notes = (await invoicesOf(id)).filter(({ kind }) => kind === 'credit_note');
    const names = (await Promise.all(received.slice(1).map(pdfsIn))).flat().map(({ name }) => name);
    assert.deepEqual(names.toSorted(), notes.map(({ number }) => `${number}.pdf`).toSorted());
    assert.equal(names.length, 2);
  });

  it('is sent without the document after five minutes, and then the list shows none', async () => {
    const id = await paid();
    await service.db.query(`UPDATE mails SET inserted_at = now() - interval '6 minutes' WHERE sent_at IS NULL`);
    assert.equal(await send(), 1);
    assert.deepEqual(await pdfsIn(received[0] ?? ''), []);
    assert.equal((await mailAbout(`receipt ${id}`)).invoice_id, null);
    await numbered();
    assert.equal(await send(), 0, 'and not again when the number is there');
  });

  it('carries nothing unless the merchant wants it', async () => {
    await withInvoices(service, service.company, { attach_to_emails: false });
    const id = await paid();
    assert.equal(await send(), 1);
    assert.deepEqual(await pdfsIn(received[0] ?? ''), []);
    assert.equal((await mailAbout(`receipt ${id}`)).invoice_id, null);
  });

  it('is sent once although workers die while they wait, make the document and send', async () => {
    const id = await paid();
    await numbered();
    const never = (): Promise<never> => new Promise(() => undefined);
    void send(mailer, never);
    while ((await mailAbout(`receipt ${id}`)).attempts < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await send(), 0, 'another worker leaves it alone for a while');
    await due();
    void send({ ...mailer, send: never });
    while ((await mailAbout(`receipt ${id}`)).attempts < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await due();
    assert.equal(await send(), 1);
    await made();
    assert.equal(await send(), 0);
    assert.equal(received.length, 1);
    assert.equal((await pdfsIn(received[0] ?? '')).length, 1);
  });

  it('does not stay behind because its document cannot be made', async () => {
    const id = await paid();
    await numbered();
    const failing = (): Promise<never> => Promise.reject(new Error('no room for another page'));
    for (const attempts of [1, 2]) {
      await due();
      await send(mailer, failing);
      assert.deepEqual([(await mailAbout(`receipt ${id}`)).attempts, received.length], [attempts, 0]);
    }
    await due();
    await send(mailer, failing);
    assert.deepEqual([received.length, await pdfsIn(received[0] ?? '')], [1, []]);
  });

  it('shows its attachment in the mailbox, and names it in the list of emails', async () => {
    const id = await paid();
    const mailbox = async (): Promise<string> => (await fetch(`${service.baseUrl}/mailbox`)).text();
    assert.ok(!(await mailbox()).includes('>Attachment<'));
    await numbered();
    const [invoice] = await invoicesOf(id);
    const [, path = '', name] = /href="(\/documents\/[^"]+)"[^>]*>([^<]+)</.exec(await mailbox()) ?? [];
    assert.equal(name, `${invoice?.number}.pdf`);
    const sort = { field: 'created_at', descending: true };
    const { items } = await getCustomerEmails(contextOf(service), {}, { limit: 1, sort, cursor: null });
    assert.deepEqual(items[0]?.attachment, { invoice_id: invoice?.id, number: invoice?.number });
    const pdf = await fetch(service.baseUrl + path.replaceAll('&amp;', '&'));
    assert.deepEqual([pdf.status, pdf.headers.get('content-type')], [200, 'application/pdf']);
  });
});
