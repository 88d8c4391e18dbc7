import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { randomUUID } from 'node:crypto';
import { openShop, succeeded } from '../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { createLog } from '../../platform/log.ts';
import { currentRestore, endRestore, noteRestored, type RestoreWatch, watchRestores } from './service.ts';

let service: TestService;
let folder: string;
let file: string;
let booked: { companyId: string; transactionId: string };
const watches: RestoreWatch[] = [];
const lines: string[] = [];

before(async () => {
  [service, folder] = await Promise.all([startTestService(), mkdtemp(join(tmpdir(), 'svc-mark-'))]);
  const order = await succeeded(service, await openShop(service));
  booked = { companyId: service.company.id, transactionId: order.transactions[0].id };
});
after(async () => {
  for (const watch of watches) await watch.stop();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  file = join(folder, randomUUID());
  lines.length = 0;
  await service.db.query('DELETE FROM restores');
});

const log = createLog('info', { write: (line) => lines.push(line) });
async function watch(): Promise<RestoreWatch> {
  const opened = await watchRestores({ db: service.db, clock: service.clock, log, file });
  watches.push(opened);
  return opened;
}
const restored = async (): Promise<string[]> =>
  (await service.db.query<{ noticed_by: string }>('SELECT noticed_by FROM restores')).map((row) => row.noticed_by);

describe('the high-water mark', () => {
  it('is written when a transaction was recorded, and says nothing while the database has it', async () => {
    const first = await watch();
    first.recorded(booked.companyId, booked.transactionId);
    await first.stop();
    assert.equal(JSON.parse(await readFile(file, 'utf8')).transactionId, booked.transactionId);
    assert.equal((await watch()).isRestored(), false);
    assert.deepEqual(await restored(), []);
  });

  it('finds a database that has lost the transaction, once, and says so in the log', async () => {
    const first = await watch();
    first.recorded(booked.companyId, randomUUID());
    await first.stop();
    const second = await watch();
    assert.equal(second.isRestored(), true);
    assert.equal(second.looksFirst(), true);
    const nowMs = Date.now();
    const dayMs = 86_400_000;
    // A key lives for a day, so one that is used later cannot repeat a lost request.
    const answers = [nowMs, nowMs + dayMs, nowMs + 2 * dayMs].map((ms) => second.mayRepeatKey(ms));
    assert.deepEqual(answers, [true, true, false]);
    assert.deepEqual(await restored(), ['high_water_mark']);
    assert.match(lines.join(''), /restored from a backup/);
    const found = await currentRestore(service.db);
    assert.ok(found && (await endRestore(service.db, found.id, new Date())));
    const third = await watch();
    assert.deepEqual([third.mayRepeatKey(nowMs), third.mayRepeatKey(nowMs + 2 * dayMs)], [true, false]);
    assert.deepEqual(
      [third.isRestored(), third.looksFirst()],
      [false, true],
      'it is over, and looked up for some time',
    );
    assert.deepEqual(await restored(), ['high_water_mark']);
  });

  it('is noticed once, although the clock of the new server is behind', async () => {
    const { id: installation } = (await service.db.query<{ id: string }>('SELECT id FROM installation'))[0] ?? {};
    const mark = { ...booked, installation, transactionId: randomUUID(), recordedAtMs: Date.now() + 300_000 };
    await writeFile(file, JSON.stringify(mark));
    assert.equal((await watch()).isRestored(), true);
    const found = await currentRestore(service.db);
    await watch();
    assert.ok(found && (await endRestore(service.db, found.id, new Date())), 'it is the same restore');
    assert.equal((await watch()).isRestored(), false);
  });

  it('of another database, or one that cannot be read, says nothing', async () => {
    const mark = { ...booked, installation: randomUUID(), transactionId: randomUUID(), recordedAtMs: Date.now() };
    for (const text of [JSON.stringify(mark), '', '{', '[]', '{"installation":1}']) {
      await writeFile(file, text);
      assert.equal((await watch()).isRestored(), false, text);
    }
    assert.deepEqual(await restored(), []);
  });
});

describe('a second restore, to a backup that was made before the first one was reconciled', () => {
  const first = `INSERT INTO restores (id, noticed_at, noticed_by, detail, books_until)
    VALUES ($1, now() - interval '3 days', 'operator', 'the first', now() - interval '4 days')`;
  const assertCountsAnew = async (watched: RestoreWatch): Promise<void> => {
    assert.ok(watched.noticedAgoMs() < 60_000, 'a search is not believed yet');
    assert.equal(watched.mayRepeatKey(Date.now()), true);
    const found = await currentRestore(service.db);
    assert.ok((found?.books_until?.getTime() ?? 0) < Date.now() - 3 * 86_400_000, 'all that is lost is compared');
  };

  it('counts from when the high-water mark shows it, and once', async () => {
    const id = randomUUID();
    await service.db.query(first, [id]);
    const before = await watch();
    before.recorded(booked.companyId, randomUUID());
    await before.stop();
    await assertCountsAnew(await watch());
    assert.equal(await endRestore(service.db, id, new Date()), false, 'a comparison that began before does not end it');
    const found = await currentRestore(service.db);
    await watch();
    assert.deepEqual(await currentRestore(service.db), found);
  });

  it('counts from when the operator notes it', async () => {
    await service.db.query(first, [randomUUID()]);
    assert.equal(await noteRestored(service.db, Date.now(), 'the second'), false);
    await assertCountsAnew(await watch());
  });
});

describe('an answer that is older than its question', () => {
  it('is a restore, unless the books were compared after it was executed', async () => {
    const reference = randomUUID();
    const first = await watch();
    await first.earlierResult(booked.companyId, reference, Date.now() - 60_000);
    assert.deepEqual([first.isRestored(), await restored()], [true, ['earlier_result']]);
    const found = await currentRestore(service.db);
    assert.ok(found && (await endRestore(service.db, found.id, new Date())));
    const second = await watch();
    await second.earlierResult(booked.companyId, reference, Date.now() - 60_000);
    assert.deepEqual([second.isRestored(), (await restored()).length], [false, 1]);
    await second.earlierResult(booked.companyId, reference, Date.now() + 60_000);
    assert.deepEqual([second.isRestored(), (await restored()).length], [true, 2]);
  });

  it('is noticed once by any number of processes', async () => {
    const processes = await Promise.all([watch(), watch(), watch()]);
    await Promise.all(processes.map((one) => one.earlierResult(booked.companyId, randomUUID(), Date.now())));
    assert.deepEqual(await restored(), ['earlier_result']);
  });
});

it('an operator notes a restore once', async () => {
  assert.equal(await noteRestored(service.db, Date.now(), 'a test'), true);
  assert.equal(await noteRestored(service.db, Date.now(), 'a test'), false);
  assert.equal((await watch()).isRestored(), true);
});
