import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { companyAddress } from '../../server/http/page-token.ts';
import { latestMails } from '../../server/features/mails/service.ts';
import { createPlanGroup } from '../../server/features/plan-groups/service.ts';
import { changeProfile } from '../../server/features/profile/service.ts';
import { cards, created, moveTo, openScene, ordersOf, type Scene } from '../support/billing.ts';
import { allLooks, checkLooks, openPagesWorld, typeCard, type Visited } from '../support/hosted-pages.ts';
import { invoicesFor, numberNow } from '../support/invoices.ts';
import { contextOf } from '../support/orders.ts';
import { readSubscription, somePlan } from '../support/subscriptions.ts';

/** The customer page as a customer meets it. */

const { service, visit, stop } = await openPagesWorld();
after(stop);

async function open({ key, customer_id }: Scene): Promise<string> {
  const reply = await service.call('POST', '/v1/customer_sessions', { key, body: { customer_id } });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.url;
}

async function during(url: string, body: (visited: Visited) => Promise<void>): Promise<void> {
  const visited = await visit(url);
  try {
    await body(visited);
  } finally {
    await visited.close();
  }
}

async function someScene(number?: string): Promise<Scene> {
  const scene = await openScene(service, { name: 'Tea of the month' }, number);
  await changeProfile(contextOf(service, scene.company), {
    display_name: 'Tea House',
    color: '#1f6b4f',
    support_email: 'help@teahouse.example',
    customer_page: { return_url: 'https://tea.example/' },
  });
  return scene;
}

describe('the customer page', () => {
  test('shows subscriptions, card and payments, and is accessible in both themes on phone and desktop', async () => {
    const scene = await someScene();
    await invoicesFor(service, scene.customer_id);
    await created(service, scene);
    await numberNow(service, scene.company.id);
    const [order] = await ordersOf(service, scene);
    await during(await open(scene), async ({ page, complaints }) => {
      await page.getByRole('heading', { name: 'Your account at Tea House' }).waitFor();
      await page.getByText(/Next payment: \$19\.00 on/).waitFor();
      await page.getByText('$19.00 per month').waitFor();
      await page.locator('#default-card').getByText('Visa •••• 4242').waitFor();
      assert.equal(
        await page.getByRole('link', { name: 'Back to Tea House' }).getAttribute('href'),
        'https://tea.example/',
      );
      const receipt = page.getByRole('link', { name: `Receipt for order ${order?.order_number}` });
      const href = (await receipt.getAttribute('href')) ?? '';
      const answer = await fetch(new URL(href, page.url()), { redirect: 'manual' });
      assert.equal(answer.status, 303);
      assert.match(answer.headers.get('location') ?? '', /\/receipts\//);
      await page.getByRole('link', { name: /^Invoice INV-\d{4}-000001$/ }).waitFor();
      await checkLooks(page, 'customer-account', allLooks);
      assert.deepEqual(complaints, []);
    });
  });

  test('ends the renewal, keeps the subscription after all, and cancels it', async () => {
    const scene = await someScene();
    const { id } = await created(service, scene);
    const read = () => readSubscription(service, id, { key: scene.key });
    await during(await open(scene), async ({ page }) => {
      await page.getByRole('button', { name: 'Cancel at period end: Tea of the month' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: 'Cancel Tea of the month at the end of the period?' }).waitFor();
      await checkLooks(page, 'customer-confirm');
      await dialog.getByRole('button', { name: 'Keep it' }).click();
      assert.equal((await read()).end_date, null);
      await page.getByRole('button', { name: 'Cancel at period end: Tea of the month' }).click();
      await dialog.getByRole('button', { name: 'Cancel at period end' }).click();
      await page.getByText(/^Tea of the month ends on/).waitFor();
      assert.notEqual((await read()).end_date, null);
      await checkLooks(page, 'customer-ending');
      await page.getByRole('button', { name: 'Keep subscription: Tea of the month' }).click();
      await page.getByText('Tea of the month renews again.').waitFor();
      assert.equal((await read()).end_date, null);
      await page.getByRole('button', { name: 'Cancel now: Tea of the month' }).click();
      await dialog.getByRole('button', { name: 'Cancel now' }).click();
      await page.getByText('Tea of the month is canceled.').waitFor();
      assert.equal((await read()).status, 'canceled');
    });
  });

  test('changes the card, also when the answer is lost, and pays a failed renewal', async () => {
    const scene = await someScene(cards.declinesAfterFirst);
    const { id, current_period_end } = await created(service, scene);
    await moveTo(service, scene.key, new Date(Date.parse(current_period_end) + 60_000).toISOString());
    await during(await open(scene), async ({ page, fields }) => {
      await page.getByText('The payment of $19.00 was declined.').waitFor();
      await checkLooks(page, 'customer-overdue');
      await page.getByRole('button', { name: 'Pay $19.00 now' }).click();
      await page.getByText('The payment was declined again.').waitFor();
      await page.getByRole('button', { name: 'Change card' }).click();
      await page.getByRole('radio', { name: 'Use another card' }).check();
      await typeCard(fields, cards.good);
      await checkLooks(page, 'customer-card');
      let isLost = true;
      await page.route('**/card', async (route) => {
        const answer = await route.fetch();
        await (isLost ? route.abort('connectionreset') : route.fulfill({ response: answer }));
        isLost = false;
      });
      await page.getByRole('button', { name: 'Save card' }).click();
      await page.getByText('Your payments use Mastercard •••• 4444 from now on.').waitFor();
      await page.getByText('The payment of $19.00 is being made.').waitFor();
      await service.subscriptions.billDue(100);
      await page.getByText(/Next payment: \$19\.00/).waitFor();
      const [, renewal] = await ordersOf(service, scene);
      const statuses = (await service.call('GET', `/v1/orders/${renewal?.id}`, { key: scene.key })).body.transactions;
      assert.equal(statuses.filter(({ status }: { status: string }) => status === 'succeeded').length, 1);
      assert.equal((await readSubscription(service, id, { key: scene.key })).status, 'active');
    });
  });

  test('upgrades after a preview of the charge, changes the seats, and takes a downgrade back', async () => {
    const scene = await someScene();
    const [small, large] = [
      await somePlan(service, { name: 'Small tea', amount: 900 }, scene.company),
      await somePlan(service, { name: 'Large tea', amount: 3900 }, scene.company),
    ];
    await createPlanGroup(contextOf(service, scene.company), {
      ...{ name: 'Teas', plan_ids: [small.id, scene.plan_id, large.id], upgrade: 'now', downgrade: 'renewal' },
      ...{ proration: 'restart', after_cycles: 0, seats_max: 5 },
    });
    const { id } = await created(service, scene);
    const read = () => readSubscription(service, id, { key: scene.key });
    await during(await open(scene), async ({ page, complaints }) => {
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Change plan: Tea of the month' }).click();
      await dialog.getByRole('radio', { name: /Large tea/ }).check();
      await dialog.getByText('You pay now').waitFor();
      await checkLooks(page, 'customer-plan', allLooks);
      await dialog.getByRole('button', { name: /^Change plan and pay \$/ }).click();
      await page.getByText('Your plan is changed.').waitFor();
      assert.equal((await read()).plan_id, large.id);

      await page.getByRole('button', { name: 'Change plan: Large tea' }).click();
      await dialog.getByLabel('Seats').fill('2');
      await dialog.getByRole('button', { name: /^Change plan and pay \$/ }).click();
      await page.getByText('2 seats', { exact: true }).waitFor();
      assert.equal((await read()).quantity, 2);

      await page.getByRole('button', { name: 'Change plan: Large tea' }).click();
      await dialog.getByRole('radio', { name: /Small tea/ }).check();
      await dialog.getByText('Your plan stays as it is until the next payment.').waitFor();
      await dialog.getByRole('button', { name: 'Change plan', exact: true }).click();
      await page.getByText(/^Changes to Small tea \(2 seats\) on/).waitFor();
      await checkLooks(page, 'customer-plan-scheduled');
      await page.getByRole('button', { name: 'Keep the current plan: Large tea' }).click();
      await page.getByText('Large tea stays as it is.').waitFor();
      assert.equal((await read()).scheduled_change, null);
      assert.deepEqual(complaints, []);
    });
  });

  test('pauses until a date, continues with a payment, and subscribes again after the end', async () => {
    const scene = await someScene();
    const allowed = { allow_pause: true, allow_subscribe_again: true };
    await changeProfile(contextOf(service, scene.company), { customer_page: allowed });
    const { id, current_period_end } = await created(service, scene);
    const read = () => readSubscription(service, id, { key: scene.key });
    await during(await open(scene), async ({ page, complaints }) => {
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Pause: Tea of the month' }).click();
      await dialog.getByText(/^You have paid until .* you pay \$19\.00\.$/).waitFor();
      const day = await dialog.getByLabel('Continue on').inputValue();
      assert.ok(day > current_period_end.slice(0, 10));
      await checkLooks(page, 'customer-pause', allLooks);
      await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
      await page.getByText(/^Tea of the month is paused until/).waitFor();
      await page.getByText(/^Paused\. Continues on .* with a payment of \$19\.00\.$/).waitFor();
      await checkLooks(page, 'customer-paused');
      assert.equal((await read()).resumes_at.slice(0, 10), day);
      await page.getByRole('button', { name: 'Continue now: Tea of the month' }).click();
      await dialog.getByText(/^You have paid until/).waitFor();
      await dialog.getByRole('button', { name: 'Not now' }).click();
      assert.equal((await read()).status, 'paused');
      await page.getByRole('button', { name: 'Continue now: Tea of the month' }).click();
      await dialog.getByRole('button', { name: 'Continue now' }).click();
      await page.getByText('Tea of the month continues.').waitFor();
      assert.equal((await read()).status, 'active');

      await page.getByRole('button', { name: 'Cancel now: Tea of the month' }).click();
      await dialog.getByRole('button', { name: 'Cancel now' }).click();
      await page.getByRole('button', { name: 'Subscribe again: Tea of the month' }).click();
      await dialog
        .getByText(/^You pay \$19\.00 now with Visa .* costs \$19\.00 per month until you cancel it\.$/)
        .waitFor();
      await checkLooks(page, 'customer-again');
      await dialog.getByRole('button', { name: 'Subscribe and pay $19.00' }).click();
      await page.getByText('You are subscribed to Tea of the month again.').waitFor();
      assert.equal((await ordersOf(service, scene)).length, 2);
      assert.deepEqual(complaints, []);
    });
  });

  test('sends a link by email to those who ask for it', async () => {
    const scene = await someScene();
    const { body: customer } = await service.call('GET', `/v1/customers/${scene.customer_id}`, { key: scene.key });
    const address = companyAddress(scene.company.id);
    await during(`/customer/${address}`, async ({ page }) => {
      await page.getByRole('heading', { name: 'Manage your payments' }).waitFor();
      await checkLooks(page, 'customer-email');
      await page.getByRole('button', { name: 'Email me a link' }).click();
      await page.getByText('Enter your email address.').waitFor();
      await page.getByLabel('Email').fill(customer.email);
      await page.getByRole('button', { name: 'Email me a link' }).click();
      await page.getByRole('heading', { name: 'Check your email' }).waitFor();
      await checkLooks(page, 'customer-sent');
      await service.background.flush();
      const mails = await latestMails(service.shards, service.mailKey, 50);
      const mail = mails.find(({ recipient }) => recipient === customer.email);
      const token = /\/customer\/(\w{44})\s/.exec(mail?.body ?? '')?.[1];
      await page.goto(`${service.baseUrl}/customer/${token}`);
      await page.getByText(`Ada Lovelace · ${customer.email}`).waitFor();
      await page.getByText('You have no subscriptions.').waitFor();
    });
  });
});
