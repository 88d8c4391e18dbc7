import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { aCustomer, recordedSdk, type RecordedSdk } from '../../tests/support/sdk.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { AuthenticationError, type Page, responseOf, Svc } from './src/index.ts';

/** Lists with several pages. */

let service: TestService;
let sdk: RecordedSdk;
/** Newest first, as in the list. */
const ids: string[] = [];

before(async () => {
  service = await startTestService();
  sdk = recordedSdk(service);
  for (let count = 0; count < 12; count += 1) {
    ids.unshift((await sdk.svc.customers.create(aCustomer({ tags: [count % 2 === 0 ? 'even' : 'odd'] }))).id);
  }
});
after(() => service.stop());

async function idsOf(items: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of items) found.push(id);
  return found;
}

const idsOn = (page: Page<{ id: string }> | undefined): string[] | undefined => page?.data.map(({ id }) => id);

describe('a list', () => {
  it('iterates over all pages', async () => {
    const { attempts } = sdk;
    attempts.length = 0;
    assert.deepEqual(await idsOf(sdk.svc.customers.list({ limit: 5 })), ids);
    assert.equal(attempts.length, 3);
  });

  it('is an array with at most as many objects as asked for, from as few pages as possible', async () => {
    sdk.attempts.length = 0;
    const some = await sdk.svc.customers.list({ limit: 5 }).toArray({ limit: 7 });
    assert.deepEqual(
      some.map(({ id }) => id),
      ids.slice(0, 7),
    );
    assert.equal(sdk.attempts.length, 2);
    const page = await sdk.svc.customers.list({ limit: 5 });
    assert.equal((await page.toArray({ limit: 100 })).length, ids.length);
    for (const limit of [0, 1.5, undefined as unknown as number]) {
      await assert.rejects(page.toArray({ limit }), RangeError);
    }
  });

  it('has the request ID of its page', async () => {
    const page = await sdk.svc.customers.list({ limit: 5 });
    const next = await page.nextPage();
    assert.match(responseOf(page)?.requestId ?? '', /^req_/);
    assert.notEqual(responseOf(page)?.requestId, next && responseOf(next)?.requestId);
  });

  it('loads only the pages that are read', async () => {
    sdk.attempts.length = 0;
    for await (const { id } of sdk.svc.customers.list({ limit: 5 })) if (id === ids[6]) break;
    assert.equal(sdk.attempts.length, 2);
  });

  it('keeps filters, order and fields for all pages', async () => {
    sdk.attempts.length = 0;
    const list = sdk.svc.customers.list({ limit: 2, tags: ['even'], sort: 'created_at', fields: ['email'] });
    const found: string[] = [];
    for await (const customer of list) {
      assert.deepEqual(Object.keys(customer).toSorted(), ['email', 'id']);
      found.push(customer.id);
    }
    assert.deepEqual(found, ids.filter((_, index) => index % 2 === 1).toReversed());
    assert.equal(sdk.attempts.length, 3);
  });

  it('returns a page with nextPage and previousPage', async () => {
    const first = await sdk.svc.customers.list({ limit: 5 });
    assert.deepEqual([idsOn(first), first.has_more], [ids.slice(0, 5), true]);
    assert.equal(await first.previousPage(), undefined);
    const second = await first.nextPage();
    assert.deepEqual(idsOn(second), ids.slice(5, 10));
    const last = await second?.nextPage();
    assert.deepEqual([idsOn(last), last?.has_more], [ids.slice(10), false]);
    assert.equal(await last?.nextPage(), undefined);
    const back = await last?.previousPage();
    assert.deepEqual(idsOn(back), ids.slice(5, 10));
    assert.deepEqual(idsOn(await back?.previousPage()), ids.slice(0, 5));
    assert.deepEqual(idsOn(await back?.nextPage()), ids.slice(10));
  });

  it('iterates from any page', async () => {
    const second = await (await sdk.svc.customers.list({ limit: 5 })).nextPage();
    assert.ok(second);
    assert.deepEqual(await idsOf(second), ids.slice(5));
  });

  it('iterates backwards with ending_before', async () => {
    const cursor = ids[9];
    assert.deepEqual(
      await idsOf(sdk.svc.customers.list({ limit: 4, ending_before: cursor })),
      ids.slice(0, 9).toReversed(),
    );
    const after = await sdk.svc.customers.list({ limit: 4, starting_after: cursor });
    assert.deepEqual(idsOn(after), ids.slice(10));
    const before = await after.previousPage();
    assert.ok(before);
    assert.deepEqual(await idsOf(before), ids.slice(0, 10).toReversed());
  });

  it('ends immediately if it is empty', async () => {
    assert.deepEqual(await idsOf(sdk.svc.customers.list({ tags: 'unused' })), []);
  });

  it('throws errors during the iteration', async () => {
    const stranger = new Svc('svc_test_sk_nobody', { baseUrl: service.baseUrl });
    await assert.rejects(idsOf(stranger.customers.list()), AuthenticationError);
    await assert.rejects(stranger.customers.list(), AuthenticationError);
  });
});
