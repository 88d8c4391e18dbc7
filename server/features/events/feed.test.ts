import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { newId } from '../../platform/ids.ts';
import type { Queryable } from '../../platform/database.ts';
import { eventIdOf } from '../../platform/ids.ts';
import { insertEvents } from './queries.ts';
import { exampleObjectOf } from '../../event-schemas.ts';
import { newEvent } from './service.ts';
import type { Company } from '../../company.ts';
import { firstShard } from '../../shards/shards.ts';

let service: TestService;
let company: Company;
let key: string;
before(async () => {
  service = await startTestService();
  ({ sandbox: company, key } = await service.createMerchant());
});
after(() => service.stop());

/** Inserts events, the first of them made first; gives their ids. */
async function happen(db: Queryable, count = 1, nowMs = Date.now()): Promise<string[]> {
  const events = Array.from({ length: count }, () =>
    newEvent(
      company.id,
      nowMs,
      'customer.created',
      { ...exampleObjectOf('customer.created'), id: newId(nowMs) },
      1,
      null,
    ),
  );
  await insertEvents(db, events);
  return events.map(({ id }) => eventIdOf(id));
}

async function read(cursor?: string, more = ''): Promise<{ ids: string[]; cursor: string; has_more: boolean }> {
  const { body, status, text } = await service.call(
    'GET',
    `/v1/events/feed${cursor ? `?cursor=${cursor}${more}` : ''}`,
    {
      key,
    },
  );
  assert.equal(status, 200, text);
  return { ids: body.data.map(({ id }: { id: string }) => id), cursor: body.cursor, has_more: body.has_more };
}

describe('the feed of events', () => {
  test('begins now, and gives each event that follows', async () => {
    await happen(service.db);
    const begun = await read();
    assert.deepEqual(begun.ids, []);
    const made = await happen(service.db, 3);
    const page = await read(begun.cursor);
    assert.deepEqual(page.ids.slice(-3), made);
    const later = await happen(service.db);
    assert.ok((await read(page.cursor)).ids.includes(later[0] ?? ''));
  });

  test('gives an event that was made early and committed late, though a later one was read before it', async () => {
    let { cursor } = await read();
    const seen: string[] = [];
    const readOn = async (): Promise<void> => {
      const page = await read(cursor);
      cursor = page.cursor;
      seen.push(...page.ids);
    };
    const { promise: waited, resolve: commit } = Promise.withResolvers<void>();
    const inserted = Promise.withResolvers<string[]>();
    const slow = service.db.transaction(async (transaction) => {
      inserted.resolve(await happen(transaction));
      await waited;
    });
    const [early = ''] = await inserted.promise;
    const [late = ''] = await happen(service.db);
    assert.ok(early < late);
    await readOn();
    assert.ok(seen.includes(late) && !seen.includes(early));
    await readOn();
    commit();
    await slow;
    await readOn();
    assert.ok(seen.includes(early));
  });

  test('gives an event of a clock that was behind, after one of a clock that is a year ahead', async () => {
    const begun = await read();
    const [ahead = ''] = await happen(service.db, 1, Date.now() + 365 * 86_400_000);
    const first = await read(begun.cursor);
    assert.ok(first.ids.includes(ahead));
    const [behind = ''] = await happen(service.db);
    assert.ok((await read(first.cursor)).ids.includes(behind));
  });

  test('pages through many, and misses none that come between two pages', async () => {
    let { cursor } = await read();
    const made = await happen(service.db, 25);
    const seen = new Set<string>();
    for (let page = 0, more = true; more; page += 1) {
      const answer = await read(cursor, '&limit=10');
      for (const id of answer.ids) seen.add(id);
      if (page === 1) made.push(...(await happen(service.db, 1, Date.now() - 60_000)));
      ({ cursor, has_more: more } = answer);
    }
    for (const id of (await read(cursor)).ids) seen.add(id);
    assert.deepEqual(
      made.filter((id) => !seen.has(id)),
      [],
    );
  });

  test('refuses what is no cursor, and one of another database', async () => {
    // A cursor of another shard is one from before the company moved.
    const { shard } = service.company;
    const here = shard === firstShard ? '' : `@${shard}`;
    for (const cursor of [
      'evt_1',
      `9007199254740991-1${here}`,
      `1-9608462660130722${here}`,
      `9007199254740991-9999999999999${here}`,
      '1-1.1-1.nonsense-nonsense-nonsense-nonsense-n',
    ]) {
      const reply = await service.call('GET', `/v1/events/feed?cursor=${cursor}`, { key });
      assert.deepEqual([reply.status, reply.body.error?.param], [400, 'cursor'], cursor);
    }
  });

  test('has no events of other companies', async () => {
    const { cursor } = await read();
    const other = await service.createMerchant();
    await happen(service.db);
    const reply = await service.call('GET', `/v1/events/feed?cursor=${cursor}`, { key: other.key });
    assert.deepEqual(reply.body.data, []);
  });
});
