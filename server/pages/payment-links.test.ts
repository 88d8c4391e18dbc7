import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { createProduct } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { loadConfig } from '../config.ts';
import { companyAddress } from '../http/page-token.ts';
import { limits } from '../limits.ts';

/** Pages whose address all visitors share: one visitor cannot shut them for the others. */

let service: TestService;
let link: { readonly id: string; readonly path: string };
before(async () => {
  // A limit recovers with time, and on a busy machine a flood takes long. So time stands still.
  const nowMs = Date.now();
  service = await startTestService({
    clock: { nowMs: () => nowMs },
    settings: { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_GLOBAL: '1000/10', SVC_RATE_LIMIT_PAGES: '1500/10' },
  });
  const items = [{ product_id: await createProduct(service, 100), quantity: 1 }];
  const body = { name: 'Tea pots', mode: 'payment', items };
  const reply = await service.call('POST', '/v1/payment_links', { body });
  assert.equal(reply.status, 201, reply.text);
  link = { id: reply.body.id, path: new URL(reply.body.url).pathname };
});
after(() => service.stop());

async function from(method: string, path: string, address: string): Promise<Response> {
  const headers = { 'x-forwarded-for': address };
  const response = await fetch(`${service.baseUrl}${path}`, { method, headers, redirect: 'manual' });
  await response.arrayBuffer();
  return response;
}

/** Sends more requests than an address may send, and returns the statuses. */
async function flood(method: string, path: string, count: number): Promise<Set<number>> {
  const replies = await Promise.all(Array.from({ length: count + 10 }, () => from(method, path, '192.0.2.1')));
  return new Set(replies.map(({ status }) => status));
}

const sessions = async (): Promise<number> =>
  (await service.db.query('SELECT 1 FROM checkout_sessions WHERE payment_link_id = $1', [link.id])).length;

describe('a page that all visitors share', () => {
  it('stays open for others when one address floods it', async () => {
    const company = `/customer/${companyAddress(service.company.id)}/company`;
    assert.deepEqual(await flood('GET', link.path, limits.pageRequests.write.count), new Set([303, 429]));
    assert.equal((await from('GET', link.path, '192.0.2.2')).status, 303);
    assert.deepEqual(await flood('GET', company, limits.pageRequests.read.count), new Set([200, 429]));
    assert.equal((await from('GET', company, '192.0.2.2')).status, 200);
  });

  it('has a limit for each shop that grows with the machine', () => {
    const { count = 0 } = loadConfig({}).SVC_RATE_LIMIT_PAGES ?? {};
    assert.equal(count, limits.pageRequestsPerProcessor.count * availableParallelism());
    assert.equal(loadConfig({ SVC_RATE_LIMIT_PAGES: 'off' }).SVC_RATE_LIMIT_PAGES, null);
    assert.throws(() => loadConfig({ SVC_RATE_LIMIT_PAGES: 'many' }), /SVC_RATE_LIMIT_PAGES/);
  });

  it('says on HEAD whether a payment link works, and opens no session', async () => {
    const before = await sessions();
    assert.equal((await from('HEAD', link.path, '192.0.2.3')).status, 200);
    assert.equal(await sessions(), before);
    assert.equal((await from('GET', link.path, '192.0.2.3')).status, 303);
    assert.equal(await sessions(), before + 1);
    await service.call('PATCH', `/v1/payment_links/${link.id}`, { body: { active: false } });
    assert.equal((await from('HEAD', link.path, '192.0.2.3')).status, 404);
  });

  it('serves the visitors of a good sale, and those of other shops when one has too many', async () => {
    const path = `/customer/${companyAddress(service.company.id)}/company`;
    const { sandbox } = await service.createMerchant();
    const otherShop = `/customer/${companyAddress(sandbox.id)}/company`;
    const addresses = Array.from({ length: 50 }, (_, index) => `203.0.113.${index}`);
    const visit = async (): Promise<number[]> =>
      Promise.all(addresses.map(async (address) => (await from('GET', path, address)).status));
    // More than a company may send to the API in this time.
    for (let visits = 0; visits < 1_300; visits += addresses.length) {
      assert.deepEqual(new Set(await visit()), new Set([200]));
    }
    // The limit of the shop, which the settings of this test make smaller.
    assert.deepEqual(new Set([...(await visit()), ...(await visit()), ...(await visit())]), new Set([200, 429]));
    assert.equal((await from('GET', otherShop, '203.0.113.1')).status, 200);
  });
});
