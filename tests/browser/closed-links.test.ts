import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { changeProfile } from '../../server/features/profile/service.ts';
import { companyAddress } from '../../server/http/page-token.ts';
import { hourMs } from '../../server/platform/durations.ts';
import { allLooks, checkLooks, openPagesWorld, type Visited } from '../support/hosted-pages.ts';
import { contextOf, createProduct, openShop, succeeded } from '../support/orders.ts';

/** Links of a merchant that do not work any more: each says whose it is and why, and a wrong one says nothing. */

const { service, visit, stop } = await openPagesWorld();
after(stop);

const profile = {
  display_name: 'Tea House',
  color: '#1f6b4f',
  support_email: 'help@teahouse.example',
  website: 'https://teahouse.example/',
};
await changeProfile(contextOf(service), profile);
const product = await createProduct(service, 1000);

async function createLink(body: object = {}): Promise<{ readonly id: string; readonly path: string }> {
  const items = [{ product_id: product, quantity: 1 }];
  const reply = await service.call('POST', '/v1/payment_links', {
    body: { name: 'Tea', mode: 'payment', items, ...body },
  });
  assert.equal(reply.status, 201, reply.text);
  return { id: reply.body.id, path: new URL(reply.body.url).pathname };
}

/** A link in a state that the merchant did not ask for when it was made. */
async function closedLink(columns: string): Promise<string> {
  const { id, path } = await createLink({ max_payments: 1 });
  await service.db.query(`UPDATE payment_links SET ${columns} WHERE id = $1`, [id]);
  return path;
}

async function during(url: string, body: (visited: Visited) => Promise<void>): Promise<void> {
  const visited = await visit(url);
  try {
    await body(visited);
  } finally {
    await visited.close();
  }
}

const statusOf = async (path: string, accept: string, method = 'GET'): Promise<number> => {
  const reply = await fetch(service.baseUrl + path, { method, headers: { accept }, redirect: 'manual' });
  await reply.arrayBuffer();
  return reply.status;
};

const states = [
  { columns: 'payments = 1', title: 'Sold out', text: 'This payment link has reached its number of payments.' },
  {
    columns: "ends_at = '2026-05-03T12:00:00Z'",
    title: 'This offer has ended',
    text: 'This payment link ended on May 3, 2026. You were not charged.',
  },
  {
    columns: 'active = false',
    title: 'This payment link is not active',
    text: 'Tea House has turned this link off. You were not charged.',
  },
];

describe('a payment link that takes no payments', () => {
  for (const { columns, title, text } of states) {
    test(`says "${title}" in the name and the color of the merchant`, async () => {
      const path = await closedLink(columns);
      assert.deepEqual(
        [await statusOf(path, 'text/html'), await statusOf(path, 'text/html', 'HEAD'), await statusOf(path, '*/*')],
        [410, 410, 404],
      );
      await during(path, async ({ page, complaints }) => {
        await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
        await page.getByText(text).waitFor();
        await page.getByText('Tea House', { exact: true }).waitFor();
        await page.getByText('Sandbox', { exact: true }).waitFor();
        await page.getByRole('link', { name: 'help@teahouse.example' }).waitFor();
        const website = page.getByRole('link', { name: 'Go to Tea House' });
        assert.equal(await website.getAttribute('href'), 'https://teahouse.example/');
        assert.equal(await page.title(), `${title} · Tea House`);
        const color = await page.evaluate(`getComputedStyle(document.querySelector('.mark')).backgroundColor`);
        assert.equal(color, 'rgb(31, 107, 79)');
        await checkLooks(page, `link-${title.toLowerCase().replaceAll(' ', '-')}`, allLooks);
        assert.deepEqual(
          complaints.filter((complaint) => !complaint.includes('410')),
          [],
        );
      });
    });
  }

  test('of a company that has no processor says that it cannot take payments right now', async () => {
    const { path } = await createLink();
    await service.db.query('UPDATE companies SET processor = NULL WHERE id = $1', [service.company.id]);
    try {
      assert.deepEqual([await statusOf(path, 'text/html'), await statusOf(path, '*/*')], [503, 400]);
      await during(path, async ({ page }) => {
        await page.getByRole('heading', { name: 'Tea House cannot take payments right now' }).waitFor();
        await checkLooks(page, 'link-unavailable');
      });
    } finally {
      await service.db.query(`UPDATE companies SET processor = 'sandbox' WHERE id = $1`, [service.company.id]);
    }
    assert.equal(await statusOf(path, 'text/html'), 303);
  });

  test('with a token that does not exist names no merchant', async () => {
    const wrong = `/pay/${companyAddress(service.company.id)}${'x'.repeat(22)}`;
    assert.deepEqual([await statusOf(wrong, 'text/html'), await statusOf(wrong, '*/*')], [404, 404]);
    await during(wrong, async ({ page }) => {
      await page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
      assert.doesNotMatch(await page.content(), /Tea House/);
      await checkLooks(page, 'link-unknown');
    });
  });
});

describe('a checkout that cannot be paid', () => {
  const sell = async (productId: string): Promise<string> => {
    const items = [{ product_id: productId, quantity: 1 }];
    return (await service.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items } })).body.url;
  };

  test('because something in it is no longer sold says so in the name of the merchant', async () => {
    const gone = await createProduct(service, 500);
    const url = await sell(gone);
    await service.call('DELETE', `/v1/products/${gone}`);
    await during(url, async ({ page, complaints }) => {
      await page.getByRole('heading', { name: 'This checkout cannot be paid' }).waitFor();
      await page.getByText('Ask Tea House for a new link.').waitFor();
      await page.getByText('Tea House', { exact: true }).waitFor();
      await checkLooks(page, 'checkout-unavailable', allLooks);
      assert.deepEqual(complaints, []);
    });
  });

  test('because it was paid days ago says that it is paid', async () => {
    const url = await sell(product);
    const { id } = await succeeded(service, await openShop(service));
    await service.db.query(
      `UPDATE checkout_sessions SET status = 'completed', completed_at = now() - interval '25 hours', sealed_token = NULL,
         order_id = $2 WHERE status = 'open' AND company_id = $1`,
      [service.company.id, id],
    );
    await during(url, async ({ page }) => {
      await page.getByRole('heading', { name: 'This checkout is already paid' }).waitFor();
      await page.getByText('Tea House', { exact: true }).waitFor();
      await checkLooks(page, 'checkout-paid-before', allLooks);
    });
  });
});

describe('a link to documents of a customer', () => {
  test('to the customer page that has expired names the merchant and offers a new one; a wrong one does not', async () => {
    const { customerId: customer_id } = await openShop(service);
    const { body } = await service.call('POST', '/v1/customer_sessions', { body: { customer_id } });
    await service.db.query(`UPDATE customer_sessions SET expires_at = now() - interval '1 minute' WHERE id = $1`, [
      body.id,
    ]);
    await during(body.url, async ({ page }) => {
      await page.getByRole('heading', { name: 'This link does not work any more' }).waitFor();
      await page.getByText('Tea House', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'help@teahouse.example' }).waitFor();
      await checkLooks(page, 'customer-expired', allLooks);
      await page.getByRole('link', { name: 'Get a new link' }).click();
      await page.getByRole('heading', { name: 'Manage your payments' }).waitFor();
    });
    await during(`/customer/${companyAddress(service.company.id)}${'x'.repeat(22)}`, async ({ page }) => {
      await page.getByRole('heading', { name: 'This link does not work', exact: true }).waitFor();
      assert.equal(await page.getByText('Tea House').count(), 0);
      await checkLooks(page, 'customer-unknown');
    });
  });

  test('to a receipt that has expired names the merchant; one with a wrong signature does not', async () => {
    const { id } = await succeeded(service, await openShop(service));
    const url = new URL((await service.call('GET', `/v1/orders/${id}/receipt`)).body.url);
    service.clock.advance(Number(url.searchParams.get('expires')) * 1000 - service.clock.nowMs() + hourMs);
    const path = url.pathname + url.search;
    assert.deepEqual([await statusOf(path, 'text/html'), await statusOf(path, '*/*')], [410, 400]);
    assert.equal(await statusOf(`${path}x`, 'text/html'), 404);
    await during(path, async ({ page, complaints }) => {
      await page.getByRole('heading', { name: 'This receipt link has expired' }).waitFor();
      await page.getByText('Ask Tea House for a new one.').waitFor();
      await checkLooks(page, 'receipt-expired');
      assert.deepEqual(
        complaints.filter((complaint) => !complaint.includes('410')),
        [],
      );
    });
  });
});
