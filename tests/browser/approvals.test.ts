import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import type { Browser, Locator, Page } from 'playwright-core';
import { approvals } from '../../dashboard/src/texts/approvals.ts';
import { home } from '../../dashboard/src/texts/home.ts';
import { usualPermissions } from '../../server/http/permissions.ts';
import { connectAgent, use } from '../support/agents.ts';
import { launchBrowser } from '../support/browser.ts';
import { inspect } from '../support/inspect.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../support/live-merchants.ts';
import { readOrder, succeeded } from '../support/orders.ts';

/** A live refund of an agent waits for a member of the team, who approves it in a real browser. */

let live: LiveService;
let merchant: ConnectedMerchant;
let browser: Browser;
let page: Page;
let agent: Client;
const problems: string[] = [];

before(async () => {
  [live, browser] = await Promise.all([startLiveService(), launchBrowser()]);
  merchant = await live.openMerchant('nmi');
  const { service } = live;
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(30_000);
  const [name = '', value = ''] = merchant.owner.cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: service.baseUrl }]);
  await context.addInitScript(`sessionStorage.setItem('svc.company', '${merchant.companyId}')`);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  const permissions = [...usualPermissions, 'agents:write'] as const;
  agent = await connectAgent(service, await service.createKey(merchant.company, { permissions, name: 'Helper' }));
});
after(async () => {
  await agent?.close();
  await browser?.close();
  await live?.stop();
});

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });

it('shows the exact words under Needs attention, and lets the agent refund once after Approve', async () => {
  const { service } = live;
  const { id } = await succeeded(service, merchant.shop, { key: merchant.key });
  const input = { order_id: id, amount: 100 };
  const { question, approval_id } = await use(agent, 'refund_order', input);

  await page.goto('/home');
  await page.getByRole('link', { name: new RegExp(home.attentions.agents_asking[0]) }).click();
  await page.waitForURL(new RegExp(`/approvals/${approval_id}`));
  await page.getByText(question, { exact: true }).waitFor();
  await page.getByText('Helper', { exact: true }).waitFor();
  await inspect(page, 'approval');
  await button(approvals.approve).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(question, { exact: true }).waitFor();
  await button(approvals.approve, dialog).click();
  await page.getByText(approvals.states.approved, { exact: true }).waitFor();

  const done = await use(agent, 'refund_order', { ...input, approval_id });
  assert.equal(done.isError, false, JSON.stringify(done));
  await page.getByText(approvals.states.used, { exact: true }).first().waitFor();
  assert.equal((await readOrder(service, id, { key: merchant.key })).refunded_amount, 100);
  assert.deepEqual(problems, []);
});

it('refuses on the list of questions', async () => {
  const { id } = await succeeded(live.service, merchant.shop, { key: merchant.key });
  const { question, approval_id } = await use(agent, 'refund_order', { order_id: id });
  await page.goto('/approvals');
  await page.getByText(question, { exact: true }).waitFor();
  await button(approvals.refuse).click();
  await button(approvals.refuse, page.getByRole('dialog')).click();
  await page.getByText(approvals.states.refused, { exact: true }).first().waitFor();
  const { error } = await use(agent, 'refund_order', { order_id: id, approval_id });
  assert.equal(error.code, 'approval_refused');
  assert.deepEqual(problems, []);
});
