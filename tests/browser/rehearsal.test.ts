import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { auth } from '../../dashboard/src/texts/auth.ts';
import { shell } from '../../dashboard/src/texts/common.ts';
import { goingLive } from '../../dashboard/src/texts/going-live.ts';
import { processors } from '../../dashboard/src/texts/processors.ts';
import { rehearsal } from '../../dashboard/src/texts/rehearsal.ts';
import { violationsIn } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { workOnRehearsals } from '../support/rehearsals.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type Simulator, startSimulator } from '../support/simulator.ts';

/** How an owner rehearses with the test account of a processor, in a real browser with a simulated Stripe in test mode. */

const secretKey = 'sk_test_51NotARealKey00000000';
const signingSecret = 'whsec_ofTheTestAccount';
let service: TestService;
let stripe: Simulator;
let browser: Browser;
let owner: Person;
let page: Page;
let isWorking = true;
let work: Promise<void>;
const problems: string[] = [];

/** Does the work of the worker. */
async function keepWorking(): Promise<void> {
  while (isWorking) {
    await workOnRehearsals(service);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

before(async () => {
  [stripe, browser] = await Promise.all([startSimulator('stripe', secretKey), launchBrowser()]);
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: stripe.url } });
  work = keepWorking();
  owner = await signUp(service);
  const context = await browser.newContext({ baseURL: service.baseUrl, locale: 'en-US' });
  context.setDefaultTimeout(10_000);
  page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  // The field for the URL of a simulated Stripe is not shown.
  await page.route('**/dashboard/processors{,/test}', (route) => {
    const body = route.request().postDataJSON();
    if (body?.kind !== 'stripe') return route.continue();
    return route.continue({
      postData: { ...body, configuration: { ...body.configuration, api_url: stripe.url } },
    });
  });
  await page.goto('/login');
  await field(auth.email).fill(owner.email);
  await field(auth.password).fill(owner.password);
  await button(auth.signIn).click();
  await page.waitForURL(/\/home/);
});
after(async () => {
  isWorking = false;
  await work;
  await browser?.close();
  await Promise.all([service?.stop(), stripe?.stop()]);
});

const button = (name: string, within: Page | Locator = page): Locator =>
  within.getByRole('button', { name, exact: true });
const field = (label: string, within: Page | Locator = page): Locator => within.getByLabel(label, { exact: true });

describe('an owner', () => {
  it('is asked by Going live to rehearse, and opens the rehearsal company from there', async () => {
    await button(shell.live).click();
    await page.waitForURL(/company=live/);
    await page.goto('/settings/going-live');
    await page.getByRole('link', { name: goingLive.steps.rehearsal[0] ?? '' }).click();
    await page.getByText(rehearsal.about).waitFor();
    assert.deepEqual(await violationsIn(page, { rules: 'wcag' }), []);
    await button(rehearsal.open).click();
    await page.getByRole('heading', { name: rehearsal.connectTitle }).waitFor();
    assert.equal(await button(shell.rehearsal).getAttribute('aria-pressed'), 'true');
  });

  it('connects the test account and rehearses it', async () => {
    await page
      .getByRole('button', { name: /^Stripe/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await field('Secret key', dialog).fill(secretKey);
    await field('Signing secret (optional)', dialog).fill(signingSecret);
    await button(processors.connectNow, dialog).click();
    const connected = page.getByRole('heading', { name: processors.connectedTitle('Stripe') });
    await connected.waitFor();
    const [row] = await service.db.query<{ id: string }>('SELECT id FROM processor_connections');
    const url = new URL(`/processors/${row?.id}/notices`, service.baseUrl).href;
    await stripe.control({ webhook: { url, secret: signingSecret } });
    await page.goto('/settings/processors');
    const panel = page.getByRole('region', { name: rehearsal.title });
    await panel.getByText(rehearsal.none).waitFor();
    await button(rehearsal.start, panel).click();
    await panel.getByText(rehearsal.states.passed, { exact: true }).waitFor({ timeout: 60_000 });
    await panel.getByText(rehearsal.steps.renewal).waitFor();
    assert.equal(await panel.getByText(rehearsal.results.wrong, { exact: true }).count(), 0);
    assert.deepEqual(await violationsIn(page, { rules: 'wcag' }), []);
  });

  it('sees on an order that it is a rehearsal', async () => {
    await page.goto('/orders');
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    // The mark of the order comes before its subscription, whose plan can have the same name.
    await page.getByRole('main').getByText(shell.rehearsal, { exact: true }).first().waitFor();
  });

  it('has the step done in live', async () => {
    await button(shell.live).click();
    await page.waitForURL(/company=live/);
    await page.goto('/settings/going-live');
    const step = page.getByRole('link', { name: goingLive.steps.rehearsal[0] ?? '' });
    await step.getByText(goingLive.done, { exact: true }).waitFor();
    assert.deepEqual(problems, []);
  });
});
