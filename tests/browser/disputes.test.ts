import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { shell } from '../../dashboard/src/texts/common.ts';
import { disputes } from '../../dashboard/src/texts/disputes.ts';
import { orders } from '../../dashboard/src/texts/orders.ts';
import { launchBrowser } from '../support/browser.ts';
import { connectAcquirer } from '../support/connect.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { inspect } from '../support/inspect.ts';
import { contextOf, openShop, readOrder, succeeded } from '../support/orders.ts';
import { openAcquirer, type OwnAcquirer } from '../support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from '../support/service.ts';

/** Disputes as a merchant answers them in the dashboard, in a real browser. */

let service: TestService;
let acquirer: OwnAcquirer;
let browser: Browser;
let owner: Person;
let page: Page;
const problems: string[] = [];

before(async () => {
  [service, acquirer, browser] = await Promise.all([startTestService(), openAcquirer(), launchBrowser()]);
  owner = await signUp(service);
});
after(async () => {
  await browser?.close();
  await Promise.all([service?.stop(), acquirer?.stop()]);
});

/** Opens a company of the owner in a new browser, as after signing in. */
async function open(mode: 'sandbox' | 'live'): Promise<{ id: string; key: string }> {
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(20_000);
  const [name = '', value = ''] = owner.cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: service.baseUrl }]);
  const id = companyOf(owner, mode);
  await context.addInitScript(`sessionStorage.setItem('svc.company', '${id}')`);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  return { id, key: await service.createKey({ ...service.company, id, mode }) };
}

async function pay(key: string): Promise<Reply['body']> {
  return succeeded(service, await openShop(service, undefined, { key }), { key });
}

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const dialog = (): Locator => page.getByRole('dialog');
const rows = (name: RegExp): Locator => page.getByRole('row', { name });

describe('a merchant', () => {
  it('answers a dispute: drafts evidence, adds a file, submits it once, and wins', async () => {
    const { key } = await open('sandbox');
    const { id, order_number } = await pay(key);
    await page.goto(`/orders/${id}`);
    await button(orders.sandboxTools).click();
    await page.getByRole('menuitem', { name: orders.raise }).click();
    await button(orders.raise, dialog()).click();
    await page.getByText(orders.raiseDone).waitFor();
    await page.getByRole('link', { name: disputes.respond, exact: true }).waitFor();
    const entry = page.getByRole('navigation', { name: shell.navigation }).getByRole('link', { name: /^Disputes/ });
    await entry.filter({ hasText: shell.needResponse('1') }).click();
    await rows(/Needs response.*Respond by .*, in 7 days/).click();
    await page.getByText(disputes.meanings.needs_response).waitFor();
    const deadline = await page.locator('main dl time').filter({ hasText: 'Respond by' }).boundingBox();
    const edge = await page.locator('main').evaluate((main) => main.getBoundingClientRect().right);
    assert.ok(deadline && deadline.x + deadline.width <= edge - 16, 'the deadline leaves the page');
    const text = page.getByLabel(disputes.questions[0]?.label ?? '', { exact: true });
    await page.getByText(disputes.takenLine(1, disputes.sources.order)).waitFor();
    assert.match(await text.inputValue(), new RegExp(`Order ${order_number} was placed .* \\$49\\.00`));
    const bought = page.getByLabel(disputes.questions[1]?.label ?? '', { exact: true });
    assert.notEqual(await bought.inputValue(), '');
    const [stored] = await service.db.query('SELECT evidence FROM disputes WHERE order_id = $1', [id]);
    assert.deepEqual(stored, { evidence: {} }, 'the suggestions are only on the screen');
    await text.fill('They confirmed the delivery.');
    await bought.fill('');

    const chooser = page.locator('input[type=file]');
    await chooser.setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('a note') });
    await page.getByText(disputes.fileWrongType('note.txt', 'PDF, JPEG, PNG')).waitFor();
    const receipt = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 a receipt') };
    await chooser.setInputFiles(receipt);
    await rows(/receipt\.pdf.*Receipt.*18.B/).waitFor();
    await chooser.setInputFiles({ ...receipt, name: 'double.pdf' });
    await button(disputes.removeFile('double.pdf')).click();
    await page.getByText(disputes.fileRemoved).waitFor();
    await button(disputes.saveDraft).click();
    await page.getByText(disputes.draftSaved).waitFor();
    await page.reload();
    await text.waitFor();
    await page.getByText(disputes.prefilled).waitFor();
    assert.equal(await text.inputValue(), 'They confirmed the delivery.');
    assert.equal(await bought.inputValue(), '', 'what was cleared stays empty');
    await button(disputes.useSuggestion).first().click();
    assert.notEqual(await bought.inputValue(), '');
    await inspect(page, 'the form for evidence');

    await text.fill('The delivery was signed: winning_evidence');
    await button(disputes.submit).click();
    await dialog().getByText(disputes.submitText).waitFor();
    await button(disputes.submit, dialog()).click();
    await page.getByText(disputes.submitted, { exact: true }).waitFor();
    await page.getByText(disputes.meanings.won).waitFor();
    await page.getByText('The delivery was signed: winning_evidence').waitFor();
    await rows(/receipt\.pdf/).waitFor();
    assert.equal(await rows(/double\.pdf/).count(), 0);
    for (const name of [disputes.accept, disputes.submit]) assert.equal(await button(name).count(), 0);
    await page.emulateMedia({ colorScheme: 'dark' });
    await inspect(page, 'a decided dispute');
    await page.getByRole('link', { name: order_number }).click();
    await page.getByText('Dispute won', { exact: true }).first().waitFor();
    await page.getByRole('table', { name: disputes.title }).getByText('Won').waitFor();
    assert.equal(await button(orders.acceptDispute).count(), 0);
  });

  it('submits once when the answer is lost, and accepts another dispute after a warning', async () => {
    const { key } = await open('sandbox');
    const [lost, given] = [await pay(key), await pay(key)];
    for (const { id } of [lost, given]) {
      await service.call('POST', `/v1/sandbox/orders/${id}/chargeback`, { key, body: {} });
    }
    await page.goto(`/orders/${lost.id}`);
    await page.getByRole('table', { name: disputes.title }).getByRole('link').click();
    await page.getByLabel(disputes.questions[0]?.label ?? '').fill('losing_evidence');
    let submitted = 0;
    await page.route('**/submit', async (route) => {
      submitted += 1;
      await route.fetch();
      await route.abort();
    });
    await button(disputes.submit).click();
    await button(disputes.submit, dialog()).click();
    await page.getByText(disputes.meanings.lost).waitFor();
    assert.equal(submitted, 1);

    await page.goto(`/orders/${given.id}`);
    await page.getByRole('table', { name: disputes.title }).getByRole('link').click();
    await button(disputes.accept).click();
    await dialog().getByText(disputes.acceptText).waitFor();
    await button(disputes.accept, dialog()).click();
    await page.getByText(disputes.meanings.accepted).waitFor();
    await page.getByText(disputes.noEvidence).waitFor();
    assert.equal((await readOrder(service, given.id, { key })).status, 'chargeback_accepted');
  });

  it('records the decision of a live dispute that no processor reports', async () => {
    const live = companyOf(owner, 'live');
    const timing = { timeoutMs: 5_000, requestLifeMs: 60_000 };
    await connectAcquirer(service, live, { url: acquirer.url, secret: acquirer.secret, ...timing });
    const { key } = await open('live');
    const { id } = await pay(key);
    await page.goto('/disputes');
    await page.getByText(disputes.emptyTitle).waitFor();
    await service.orders.raiseChargeback(contextOf(service, { ...service.company, id: live, mode: 'live' }), id);
    await page.goto(`/orders/${id}`);
    for (const name of [orders.acceptDispute, orders.dismissDispute]) await button(name).waitFor();
    await page.getByRole('table', { name: disputes.title }).getByRole('link').click();
    await page.getByText(disputes.decide.live).waitFor();
    assert.equal(await button(disputes.submit).count(), 0);
    await button(disputes.markLost).click();
    await button(disputes.markLost, dialog()).click();
    await page.getByText(disputes.meanings.lost).waitFor();
    assert.equal((await readOrder(service, id, { key })).status, 'chargeback_accepted');
  });

  it('sees no error of the pages', () => {
    assert.deepEqual(problems, []);
  });
});
