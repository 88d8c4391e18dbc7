import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { firstIdOf, newId } from '../../platform/ids.ts';
import {
  claimGates,
  closeGate,
  closeMissingGates,
  findGate,
  findKept,
  finishRestores,
  type Gate,
  isBehindGate,
  keepClosed,
  keptReference,
  openGate,
  renewLease,
} from './gate-queries.ts';
import { noteRestored } from './service.ts';

/** The statements of the gate, on rows that are written by hand. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(async () => {
  for (const table of ['restores', 'company_gates', 'missing_operations', 'company_fences', 'processor_connections'])
    await service.db.query(`DELETE FROM ${table}`);
});

interface Connected {
  readonly mode?: 'live' | 'sandbox';
  readonly kind?: 'acquirer' | 'adyen';
  readonly connectedAt?: string;
  readonly isRemoved?: boolean;
  readonly hasLeft?: boolean;
}

async function someCompany(connected: Connected = {}): Promise<string> {
  const { mode = 'live', kind = 'acquirer', connectedAt = '2026-01-01', isRemoved = false, hasLeft } = connected;
  const id = newId(Date.now());
  await service.db.query(
    `INSERT INTO companies (id, account_id, name, mode, api_version) VALUES ($1, $2, 'Shop', $3, '1')`,
    [id, randomUUID(), mode],
  );
  const removedAt = isRemoved ? connectedAt : null;
  await service.db.query(
    `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, created_at, disconnected_at,
       removed_at) VALUES ($1, $2, $3, 'a processor', 0, 60000, $4, $5, $5)`,
    [id, randomUUID(), kind, connectedAt, removedAt],
  );
  if (hasLeft) await service.db.query(`INSERT INTO company_fences (company_id, state) VALUES ($1, 'left')`, [id]);
  return id;
}

interface RestoreRow {
  readonly id: string;
  readonly reconciled_at: Date | null;
  readonly reconciled_until: Date | null;
}

async function someRestore(noticedAt: string, reconciledUntil: string | null = null): Promise<string> {
  const id = randomUUID();
  await service.db.query(
    `INSERT INTO restores (id, noticed_by, detail, noticed_at, reconciled_at, reconciled_until)
     VALUES ($1, 'operator', 'a test', $2, $3, $3)`,
    [id, noticedAt, reconciledUntil],
  );
  return id;
}

const restoreOf = async (id: string): Promise<RestoreRow | undefined> =>
  (await service.db.query<RestoreRow>('SELECT * FROM restores WHERE id = $1', [id]))[0];

/** The row of a gate: closed, or open again since this time. */
async function someGate(companyId: string, restoreId: string | null, comparedUntil?: string): Promise<void> {
  await service.db.query(
    `INSERT INTO company_gates (company_id, restore_id, noticed_by, detail, opened_at, compared_until)
     VALUES ($1, $2, 'operator', 'a test', $3, $3)`,
    [companyId, restoreId, comparedUntil ?? null],
  );
}

const gateOf = async (companyId: string): Promise<string | null> => {
  const [row] = await service.db.query<{ gate: string | null }>('SELECT gate FROM companies WHERE id = $1', [
    companyId,
  ]);
  return row?.gate ?? null;
};

const rowOf = async (companyId: string): Promise<object | undefined> =>
  (await service.db.query('SELECT * FROM company_gates WHERE company_id = $1', [companyId]))[0];

async function closedGate(companyId: string): Promise<Gate> {
  return (await findGate(service.db, companyId)) ?? assert.fail('the gate is open');
}

describe('a restore', () => {
  it('closes live companies that are on this server and have a connection', async () => {
    const live = await someCompany();
    const silent = await someCompany({ kind: 'adyen' });
    const others = await Promise.all([
      someCompany({ mode: 'sandbox' }),
      someCompany({ isRemoved: true }),
      someCompany({ hasLeft: true }),
    ]);
    await noteRestored(service.db, Date.now(), 'a test');
    assert.equal(await gateOf(live), 'closed');
    assert.equal(await gateOf(silent), 'renewals_wait');
    for (const other of others) assert.equal(await gateOf(other), null);
  });

  it('that another version has recorded closes the companies that were connected and are not compared yet', async () => {
    const ended = await someRestore('2026-02-01', '2026-02-02');
    const [company, compared, before, later] = await Promise.all([
      someCompany(),
      someCompany(),
      someCompany(),
      someCompany({ connectedAt: '2026-05-01' }),
    ]);
    await closeMissingGates(service.db);
    assert.equal(await gateOf(company), null, 'it has ended');
    const id = await someRestore('2026-04-01');
    await someGate(compared, id, '2026-04-02');
    await someGate(before, ended, '2026-02-02');
    await closeMissingGates(service.db);
    assert.deepEqual(await Promise.all([company, compared, before, later].map((one) => gateOf(one))), [
      'closed',
      null,
      'closed',
      null,
    ]);
  });

  it('ends when no company on this server waits because of it, at the earliest end of their comparisons', async () => {
    const [waiting, other] = await Promise.all([someCompany(), someCompany()]);
    const ended = await someRestore('2026-02-01', '2026-02-02');
    const id = await someRestore('2026-04-01');
    await someGate(waiting, id);
    await someGate(other, ended, '2026-02-02');
    assert.equal(await finishRestores(service.db), false);
    await service.db.query(
      `UPDATE company_gates SET opened_at = now(), compared_until = '2026-04-03' WHERE restore_id = $1`,
      [id],
    );
    await service.db.query(
      `UPDATE company_gates SET opened_at = NULL, compared_until = NULL, restore_id = NULL WHERE company_id = $1`,
      [other],
    );
    const before = await restoreOf(ended);
    assert.equal(await finishRestores(service.db), true, 'another company waits because of something else');
    assert.equal((await restoreOf(id))?.reconciled_until?.toISOString().slice(0, 10), '2026-04-03');
    assert.deepEqual(await restoreOf(ended), before);
    assert.equal(await finishRestores(service.db), false);
  });

  it('takes the end of the comparisons that belong to it, and does not wait for a company that has left', async () => {
    const [mine, other, left] = await Promise.all([someCompany(), someCompany(), someCompany({ hasLeft: true })]);
    const id = await someRestore('2026-04-01');
    await someGate(mine, id, '2026-04-03');
    await someGate(other, await someRestore('2026-02-01', '2026-02-02'), '2026-02-02');
    await someGate(left, id);
    assert.equal(await finishRestores(service.db), true);
    assert.equal((await restoreOf(id))?.reconciled_until?.toISOString().slice(0, 10), '2026-04-03');
  });
});

describe('an earlier result closes a company', () => {
  const executedAt = new Date('2026-06-01T00:00:00Z');
  const close = (companyId: string): Promise<boolean> =>
    closeGate(service.db, { companyId, detail: 'a test', executedAt, beforeId: firstIdOf(executedAt.getTime()) });

  it('unless a comparison covers it', async () => {
    const [compared, later] = await Promise.all([someCompany(), someCompany()]);
    await someGate(compared, null, '2026-06-02');
    await someGate(later, null, '2026-05-31');
    assert.deepEqual([await close(compared), await close(later)], [false, true]);
  });

  it('unless a restore that covers it has been compared', async () => {
    const company = await someCompany();
    await someRestore('2026-02-01', '2026-05-31');
    const covering = await someRestore('2026-02-01', '2026-06-02');
    assert.equal(await close(company), false);
    await service.db.query('DELETE FROM restores WHERE id = $1', [covering]);
    assert.equal(await close(company), true);
  });

  it('once', async () => {
    const company = await someCompany();
    assert.equal(await close(company), true);
    const before = await rowOf(company);
    assert.equal(await close(company), false);
    assert.deepEqual(await rowOf(company), before);
  });

  it('with records that end with the last transaction before it', async () => {
    const company = await someCompany();
    await service.db.transaction(async (transaction) => {
      await transaction.query('SET LOCAL session_replication_role = replica');
      for (const day of ['2026-05-30', '2026-05-31', '2026-06-02']) {
        await transaction.query(
          `INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, status, amount,
             currency, card_brand, card_last4, updated_at) VALUES ($1, $2, $1, $1, $1, 'refund', 'succeeded', 1, 'usd', 'visa',
             '4242', now())`,
          [company, newId(Date.parse(day))],
        );
      }
    });
    await close(company);
    assert.equal((await closedGate(company)).books_until?.toISOString().slice(0, 10), '2026-05-31');
  });
});

describe('a comparison', () => {
  it('is claimed when it is due, for companies that are closed and on this server', async () => {
    const [due, later, open, left] = await Promise.all([
      someCompany(),
      someCompany(),
      someCompany(),
      someCompany({ hasLeft: true }),
    ]);
    for (const company of [due, later, left]) await someGate(company, null);
    await someGate(open, null, '2026-04-01');
    await service.db.query(
      `UPDATE company_gates SET next_compare_at = now() + interval '1 hour' WHERE company_id = $1`,
      [later],
    );
    const claimed = await claimGates(service.db, 10, 60_000);
    assert.deepEqual(
      claimed.map(({ company_id }) => company_id),
      [due],
    );
    assert.deepEqual(await claimGates(service.db, 10, 60_000), []);
  });

  const waiting = { waitsFor: 'operator', failure: 'a failure', failures: 3, afterMs: 5 } as const;
  const acts: Readonly<Record<string, (gate: Gate) => Promise<unknown>>> = {
    'renews its lease': (gate) => renewLease(service.db, gate, 90_000),
    'keeps the gate closed': (gate) => keepClosed(service.db, gate, waiting),
    'opens the gate': (gate) => openGate(service.db, gate, new Date()),
  };
  for (const [what, act] of Object.entries(acts)) {
    it(`of an earlier closing, or of a gate that is open, has no effect when it ${what}`, async () => {
      const company = await someCompany();
      await someGate(company, null);
      const gate = await closedGate(company);
      for (const change of [
        `closed_at = closed_at + interval '1 second'`,
        `closed_at = '${gate.closing}', opened_at = '2026-04-01', compared_until = '2026-04-01'`,
      ]) {
        await service.db.query(`UPDATE company_gates SET ${change} WHERE company_id = $1`, [company]);
        const before = await rowOf(company);
        await act(gate);
        assert.deepEqual(await rowOf(company), before);
      }
    });
  }
});

describe('what a comparison has found', () => {
  interface Missing {
    readonly kind?: 'charge' | 'refund';
    readonly reference?: string;
    readonly connectionId?: string | null;
    readonly isDismissed?: boolean;
    readonly subscriptionId?: string;
    readonly cycle?: number;
  }

  async function missing(companyId: string, row: Missing): Promise<string> {
    const { kind = 'charge', reference = randomUUID(), connectionId = randomUUID(), isDismissed = false } = row;
    await service.db.query(
      `INSERT INTO missing_operations (company_id, reference, kind, processor_transaction_id, executed_at, connection_id,
         dismissed_at, subscription_id, subscription_cycle) VALUES ($1, $2, $3, 'ch_1', now(), $4, $5, $6, $7)`,
      [companyId, reference, kind, connectionId, isDismissed ? new Date() : null, row.subscriptionId, row.cycle],
    );
    return reference;
  }

  it('is remembered until it is dismissed', async () => {
    const [dismissed, kept] = await Promise.all([someCompany(), someCompany()]);
    await missing(dismissed, { isDismissed: true });
    await missing(kept, {});
    for (const company of [dismissed, kept]) {
      await someGate(company, null);
      await openGate(service.db, await closedGate(company), new Date());
    }
    assert.deepEqual([await gateOf(dismissed), await gateOf(kept)], [null, 'remembers']);
  });

  it('is the outcome of a charge with its reference, if a connection has executed it', async () => {
    const company = await someCompany();
    const isKept = async (reference: string): Promise<boolean> =>
      (await findKept(service.db, company, [randomUUID(), reference]))?.reference === reference;
    assert.equal(await isKept(await missing(company, {})), true);
    assert.equal(await isKept(randomUUID()), false);
    assert.equal(await isKept(await missing(company, { kind: 'refund' })), false);
    assert.equal(await isKept(await missing(company, { connectionId: null })), false);
    assert.equal(await isKept(await missing(company, { isDismissed: true })), false);
  });

  it('is the payment of a cycle of its subscription', async () => {
    const company = await someCompany();
    await service.db.query(`UPDATE companies SET gate = 'remembers' WHERE id = $1`, [company]);
    const subscriptionId = randomUUID();
    const found = async (): Promise<string | null> => {
      const [row] = await service.db.query<{ reference: string | null }>(
        `SELECT ${keptReference('c', '$2::uuid', '3')} AS reference FROM companies c WHERE c.id = $1`,
        [company, subscriptionId],
      );
      return row?.reference ?? null;
    };
    for (const other of [
      { subscriptionId: randomUUID(), cycle: 3 },
      { subscriptionId, cycle: 2 },
      { subscriptionId, cycle: 3, kind: 'refund' },
      { subscriptionId, cycle: 3, isDismissed: true },
    ] as const) {
      await missing(company, other);
      assert.equal(await found(), null);
    }
    const reference = await missing(company, { subscriptionId, cycle: 3 });
    assert.equal(await found(), reference);
  });
});

it('an operation waits behind the gate if it was recorded before the gate closed and is not adopted', async () => {
  const [closed, open] = await Promise.all([someCompany(), someCompany()]);
  await someGate(closed, null);
  await someGate(open, null, '2026-04-01');
  const waits = async (companyId: string, openedAt: string, adopted: boolean): Promise<unknown> => {
    const [row] = await service.db.query<{ waits: boolean }>(
      `SELECT ${isBehindGate('t')} AS waits FROM (
         SELECT $1::uuid AS company_id, now() + $2::interval AS opened_at, $3::boolean AS adopted) t`,
      [companyId, openedAt, adopted],
    );
    return row?.waits;
  };
  assert.equal(await waits(closed, '-1 hour', false), true);
  assert.equal(await waits(closed, '1 hour', false), false);
  assert.equal(await waits(closed, '-1 hour', true), false);
  assert.equal(await waits(open, '-1 hour', false), false);
});
