import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { randomUUID } from 'node:crypto';
import { connectAcquirer } from '../../../tests/support/connect.ts';
import { compareAll, gateOf } from '../../../tests/support/gates.ts';
import { openShop, succeeded } from '../../../tests/support/orders.ts';
import {
  connectMerchant,
  type LiveMerchant,
  openAcquirer,
  type OwnAcquirer,
} from '../../../tests/support/own-acquirer.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { createLog } from '../../platform/log.ts';
import { currentRestore, noteRestored, type RestoreWatch, watchRestores } from './service.ts';

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
  await service.db.query('DELETE FROM company_gates');
  await service.db.query('UPDATE companies SET gate = NULL WHERE gate IS NOT NULL');
});

/** The comparison has ended. */
const endRestore = (): Promise<unknown> =>
  service.db.query('UPDATE restores SET reconciled_at = now(), reconciled_until = now() WHERE reconciled_at IS NULL');

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
    assert.deepEqual(await restored(), ['high_water_mark']);
    assert.match(lines.join(''), /restored from a backup/);
    await endRestore();
    assert.equal((await watch()).isRestored(), false, 'it is over');
    assert.deepEqual(await restored(), ['high_water_mark']);
  });

  it('is noticed once, although the clock of the new server is behind', async () => {
    const { id: installation } = (await service.db.query<{ id: string }>('SELECT id FROM installation'))[0] ?? {};
    const mark = { ...booked, installation, transactionId: randomUUID(), recordedAtMs: Date.now() + 300_000 };
    await writeFile(file, JSON.stringify(mark));
    assert.equal((await watch()).isRestored(), true);
    const found = await currentRestore(service.db);
    await watch();
    assert.equal((await currentRestore(service.db))?.id, found?.id, 'it is the same restore');
    await endRestore();
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
  const assertIsCompared = async (watched: RestoreWatch): Promise<void> => {
    assert.equal(watched.isRestored(), true);
    const found = await currentRestore(service.db);
    assert.ok((found?.books_until?.getTime() ?? 0) < Date.now() - 3 * 86_400_000, 'all that is lost is compared');
  };

  it('counts from when the high-water mark shows it, and once', async () => {
    const id = randomUUID();
    await service.db.query(first, [id]);
    const before = await watch();
    before.recorded(booked.companyId, randomUUID());
    await before.stop();
    await assertIsCompared(await watch());
    const found = await currentRestore(service.db);
    assert.notEqual(found?.id, id);
    await watch();
    assert.deepEqual(await currentRestore(service.db), found);
  });

  it('counts from when the operator notes it', async () => {
    await service.db.query(first, [randomUUID()]);
    assert.equal(await noteRestored(service.db, Date.now(), 'the second'), false);
    await assertIsCompared(await watch());
  });
});

it('an operator notes a restore once', async () => {
  assert.equal(await noteRestored(service.db, Date.now(), 'a test'), true);
  assert.equal(await noteRestored(service.db, Date.now(), 'a test'), false);
  assert.equal((await watch()).isRestored(), true);
});

describe('the gates of live companies', { concurrency: false }, () => {
  let acquirer: OwnAcquirer;
  let merchant: LiveMerchant;
  let other: LiveMerchant;
  before(async () => {
    acquirer = await openAcquirer();
    merchant = await connectMerchant(service, acquirer);
    other = await connectMerchant(service, acquirer);
  });
  after(() => acquirer.stop());

  it('close when a restore is noticed, all of them, and not those of sandboxes', async () => {
    assert.equal(await noteRestored(service.db, Date.now(), 'a test'), true);
    for (const { company } of [merchant, other]) assert.equal(await gateOf(service, company.id), 'closed: comparison');
    assert.equal(await gateOf(service, service.company.id), 'open');
    await compareAll(service);
    for (const { company } of [merchant, other]) assert.equal(await gateOf(service, company.id), 'open');
    assert.equal(await currentRestore(service.db), undefined);
  });

  it('close for a restore that the release before has recorded', async () => {
    await service.db.query(`INSERT INTO restores (id, noticed_by, detail) VALUES ($1, 'operator', 'before')`, [
      randomUUID(),
    ]);
    assert.equal((await watch()).isRestored(), true);
    assert.equal(await gateOf(service, merchant.company.id), 'closed: comparison');
    await compareAll(service);
  });

  it('close for one company if its processor returns a result that is older than the request, once', async () => {
    const processes = await Promise.all([watch(), watch(), watch()]);
    const reference = randomUUID();
    const earlier = (atMs: number): Promise<unknown> =>
      Promise.all(processes.map((one) => one.earlierResult(merchant.company.id, reference, atMs)));
    await earlier(Date.now() - 60_000);
    assert.equal(await gateOf(service, merchant.company.id), 'closed: comparison');
    assert.equal(await gateOf(service, other.company.id), 'open');
    assert.equal(lines.filter((line) => line.includes('restored from a backup')).length, 1);
    await compareAll(service);
    await earlier(Date.now() - 60_000);
    assert.equal(
      await gateOf(service, merchant.company.id),
      'open',
      'what was executed before the comparison is known',
    );
    await earlier(Date.now() + 60_000);
    assert.equal(await gateOf(service, merchant.company.id), 'closed: comparison');
    assert.deepEqual(await restored(), []);
    await compareAll(service);
  });

  it('stay closed until a connection that was made after the backup is connected again', async () => {
    const first = await watch();
    first.recorded(booked.companyId, booked.transactionId);
    await first.stop();
    await service.db.query('DELETE FROM processor_connections WHERE company_id = $1', [merchant.company.id]);
    const second = await watch();
    assert.deepEqual(await restored(), ['high_water_mark']);
    await compareAll(service);
    assert.equal(await gateOf(service, merchant.company.id), 'closed: connection');
    assert.equal(await gateOf(service, other.company.id), 'open');
    await second.stop();
    await watch();
    assert.equal(await gateOf(service, merchant.company.id), 'closed: connection', 'it is not forgotten');
    const { url, secret } = acquirer;
    await connectAcquirer(service, merchant.company.id, { url, secret, timeoutMs: 5_000, requestLifeMs: 60_000 });
    await compareAll(service);
    assert.equal(await gateOf(service, merchant.company.id), 'open');
  });
});
