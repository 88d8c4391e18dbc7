import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { openShop, order as placeOrder, refund, type Shop, succeeded } from '../../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import { newId } from '../../../platform/ids.ts';
import type { ListedOperation } from '../../../vault/processors/processor.ts';
import { openExecuted, takeExecuted, takeLater } from '../recovery/adopt-queries.ts';
import { checkAllAt, checkNow, checkWithin, claimDue, claimStopped } from '../recovery/due-queries.ts';
import { findOrder } from '../queries.ts';
import { planCharges, type PlannedCharge } from './intent-queries.ts';
import {
  acceptOpen,
  claimWaiting,
  closeOpen,
  discardOpen,
  discardUnexecuted,
  findOpenOf,
  inFlightSlot,
  markInDoubt,
  markWaiting,
  type OpenKey,
  recallWaiting,
  startSending,
  waitAgain,
} from './open-queries.ts';
import {
  operationCauses,
  operationMoves,
  type OperationState,
  operationStates,
  type OperationTrigger,
  operationTriggers,
} from './operation-moves.ts';
import {
  claimCustomersDue,
  claimWithCustomer,
  giveUpCustomer,
  leaveWithCustomer,
  markWithCustomer,
} from './customer-queries.ts';
import { type ChargeOutcome, recordPlainOutcomes } from './record-outcomes.ts';
import { deriveReference, subjects } from './reference.ts';
import { isOpenSale } from './sales.ts';

let service: TestService;
let shop: Shop;
let orderId: string;
/** Another order, whose charge was declined. */
let failedId: string;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  ({ id: orderId } = await succeeded(service, shop));
  ({ id: failedId } = (await placeOrder(service, await openShop(service, '4000000000000002'))).body);
});
after(() => service.stop());

interface Forced {
  readonly state: string;
  readonly type?: 'sale' | 'refund' | 'void';
  readonly cause?: string | null;
  readonly slot?: string;
  readonly reference?: string;
  readonly request_id?: string | null;
  /** The order, if it is another one. */
  readonly of?: string;
}

const causeOf = (state: string, type: string): string => {
  if (type !== 'sale') return type;
  return state === 'with_customer' ? 'order' : 'renewal';
};

/** An operation of the order, put into a state by force. Any other one of the order is removed. */
async function operationThatIs(forced: Forced): Promise<OpenKey> {
  const { state, type = 'sale', cause, slot, reference, request_id, of = orderId } = forced;
  const id = newId(service.clock.nowMs());
  await service.db.query('DELETE FROM open_transactions WHERE order_id = $1', [of]);
  await service.db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, locked_until, next_check_at, state, waits_for, cause, subject, number, reference,
       request_id, customer_step, customer_until, customer_check_at)
     SELECT company_id, id, $2, $3, customer_id, payment_method_id, $4, 100, currency, card_brand, card_last4, now(),
       now(), now(), $5, CASE WHEN $5 = 'waiting' THEN 'service' END, $6, '{key}', 0, $7, $8,
       CASE WHEN $5 = 'with_customer' THEN '\\x00'::bytea END, CASE WHEN $5 = 'with_customer' THEN now() END,
       CASE WHEN $5 = 'with_customer' THEN now() END FROM orders WHERE id = $1`,
    [
      of,
      slot ?? (state === 'accepted' ? id : inFlightSlot),
      id,
      type,
      state,
      cause === undefined ? causeOf(state, type) : cause,
      reference ?? id,
      request_id ?? null,
    ],
  );
  return { company_id: service.company.id, order_id: of, id, sending: 1 };
}

const stateOf = async ({ id }: OpenKey): Promise<string> => {
  const [row] = await service.db.query<{ state: string }>('SELECT state FROM open_transactions WHERE id = $1', [id]);
  return row?.state ?? 'closed';
};

const response = { transaction_id: 't', response_code: '00', response_text: null } as never;
const at = new Date();
const closing = { change: 'declined', response: null, failureCode: 'unknown', failureReason: null, at } as const;

const listed = (reference: string): ListedOperation => ({
  ...{ kind: 'charge', reference, chargeReference: null, amount: 100, currency: null, last4: null, approved: true },
  ...{ voided: false, transactionId: 't', executedAtMs: 0 },
});

const following = { subject: ['retry', '1'], number: 1 };

/** What makes each move. */
const moves: Readonly<Record<OperationTrigger, (open: OpenKey) => Promise<unknown>>> = {
  sent_again: (open) => startSending(service.db, open, {}, 0),
  resolved: (open) => startSending(service.db, open, { isResolved: true }, 0),
  answer_lost: (open) => markInDoubt(service.db, open, { checkAfterMs: 0 }),
  service_stopped: (open) => markInDoubt(service.db, open, { checkAfterMs: 0, interrupted: true }),
  not_sent: (open) => markWaiting(service.db, open, { waitsFor: 'service', checkAfterMs: 0 }),
  not_executed: (open) => waitAgain(service.db, { ...open, interruptions: 0 }, 0),
  taken: (open) => claimWaiting(service.db, open, 0),
  recalled: ({ company_id, order_id }) => recallWaiting(service.db, company_id, order_id),
  checked: () => claimDue(service.db, 100, [1000], 1000),
  accepted: (open) => acceptOpen(service.db, open, response),
  outcome_recorded: (open) => closeOpen(service.db, open, closing),
  listed: ({ company_id, order_id, id }) =>
    takeLater(service.db, { company_id, order_id, operation: listed(id) }, following),
  nothing_executed: (open) => discardUnexecuted(service.db, open),
  customer_asked: (open) => markWithCustomer(service.db, open, { sealed: Buffer.from('x'), until: at, withinMs: 0 }),
  customer_gone: (open) => giveUpCustomer(service.db, open),
};

const typeFor = (state: OperationState, because: OperationTrigger): 'sale' | 'refund' =>
  state === 'accepted' || (because === 'accepted' && state !== 'waiting' && state !== 'with_customer')
    ? 'refund'
    : 'sale';

describe('an open operation', () => {
  for (const state of operationStates) {
    for (const because of operationTriggers) {
      const to = operationMoves.find(([from, trigger]) => from === state && trigger === because)?.[2];
      it(`that is ${state} ${to === undefined ? 'stays so' : `becomes ${to}`} because of ${because}`, async () => {
        const isAsked = state === 'sending' && because === 'customer_asked';
        const open = await operationThatIs({
          state,
          type: typeFor(state, because),
          ...(isAsked && { cause: 'order' }),
        });
        await moves[because](open);
        assert.equal(await stateOf(open), to ?? state);
      });
    }
  }

  it('makes a move from the states in which the reason for it can occur', () => {
    const inFlight: readonly OperationState[] = ['sending', 'in_doubt', 'interrupted'];
    const possible: Readonly<Record<OperationTrigger, readonly OperationState[]>> = {
      // Only the process that sends it knows that it executed nothing.
      sent_again: ['sending'],
      not_sent: ['sending'],
      nothing_executed: ['sending'],
      resolved: inFlight,
      answer_lost: inFlight,
      service_stopped: inFlight,
      not_executed: inFlight,
      accepted: inFlight,
      taken: ['waiting'],
      recalled: ['waiting'],
      listed: [...inFlight, 'waiting', 'with_customer'],
      outcome_recorded: [...inFlight, 'accepted', 'with_customer'],
      customer_asked: ['sending'],
      customer_gone: ['with_customer'],
      checked: operationStates,
    };
    const from = (because: OperationTrigger): OperationState[] =>
      operationMoves.filter((one) => one[1] === because).map(([state]) => state);
    for (const because of operationTriggers)
      assert.deepEqual(from(because).toSorted(), possible[because].toSorted(), because);
  });

  it('has one move for each state and trigger', () => {
    const pairs = operationMoves.map(([from, because]) => `${from} ${because}`);
    assert.equal(new Set(pairs).size, pairs.length);
  });

  it('is moved by nothing but these statements', async () => {
    const changing: string[] = [];
    for await (const file of glob('server/**/*.ts')) {
      if (file.includes('node_modules') || file.endsWith('.test.ts')) continue;
      const text = readFileSync(file, 'utf8');
      if (/UPDATE open_transactions SET[^`]*\b(state|slot|in_doubt|waiting|interrupted) =/.test(text))
        changing.push(file);
    }
    assert.deepEqual(changing.map((file) => file.split('/').at(-1) ?? '').toSorted(), [
      'adopt-queries.ts',
      'due-queries.ts',
      'open-queries.ts',
    ]);
  });
});

/** What a process does to an operation that it has sent or read. */
const { recalled: _recalled, checked: _checked, listed: _listed, ...known } = moves;
const acts: Readonly<Record<string, (open: OpenKey) => Promise<unknown>>> = {
  ...known,
  'a discard': (open) => discardOpen(service.db, open),
  'a claim': (open) => claimStopped(service.db, open),
  'a question to the bank': (open) => claimWithCustomer(service.db, open),
  'a bank that has not decided': (open) => leaveWithCustomer(service.db, open, true),
  'an earlier check': (open) => checkWithin(service.db, open, -1_000),
};

const rowOf = ({ id }: OpenKey): Promise<object[]> =>
  service.db.query('SELECT * FROM open_transactions WHERE id = $1', [id]);

const changeOpen = ({ id }: OpenKey, change: string): Promise<unknown> =>
  service.db.query(`UPDATE open_transactions SET ${change} WHERE id = $1`, [id]);

describe('a process that is late changes nothing', () => {
  for (const [name, act] of Object.entries(acts)) {
    it(`by ${name}: it knows an earlier sending, or an earlier operation of the order`, async () => {
      for (const state of operationStates) {
        const type = typeFor(state, name as OperationTrigger);
        const open = await operationThatIs({ state, type });
        const before = await rowOf(open);
        await act({ ...open, sending: 0 });
        await act({ ...open, id: newId(service.clock.nowMs()) });
        assert.deepEqual(await rowOf(open), before, state);
      }
    });
  }
});

describe('a statement is about no other operation', () => {
  /** Asserts that these stay as they are. */
  async function unchanged(others: readonly OpenKey[], act: () => Promise<unknown>): Promise<void> {
    const read = (): Promise<object[][]> => Promise.all(others.map((one) => rowOf(one)));
    const before = await read();
    await act();
    assert.deepEqual(await read(), before);
  }

  it('when a renewal that waits is recalled: not about another order, the charge of a request, or one that is sent', async () => {
    const other = await operationThatIs({ state: 'waiting', of: failedId });
    await operationThatIs({ state: 'waiting' });
    await unchanged([other], async () => assert.ok(await recallWaiting(service.db, service.company.id, orderId)));
    for (const forced of [{ state: 'waiting', cause: 'order' }, { state: 'sending' }]) {
      const requested = await operationThatIs(forced);
      await unchanged([requested], () => recallWaiting(service.db, service.company.id, orderId));
    }
  });

  it('when what is in doubt at a connection is due: not about another connection or what waits', async () => {
    const [here, there] = [newId(0), newId(0)];
    const later = `next_check_at = now() + interval '1 hour'`;
    const waiting = await operationThatIs({ state: 'waiting', of: failedId });
    await changeOpen(waiting, `${later}, connection_id = '${here}'`);
    const doubted = await operationThatIs({ state: 'in_doubt' });
    await changeOpen(doubted, `${later}, connection_id = '${there}'`);
    await unchanged([waiting, doubted], () => checkAllAt(service.db, service.company.id, here));
    await checkAllAt(service.db, service.company.id, there);
    const [due] = await claimDue(service.db, 100, [1000], 1000);
    assert.equal(due?.id, doubted.id);
  });

  it('when all of a company is due: not about what a process is sending', async () => {
    const sent = await operationThatIs({ state: 'sending' });
    await changeOpen(sent, `locked_until = now() + interval '1 minute', next_check_at = now() + interval '1 minute'`);
    await unchanged([sent], () => checkNow(service.db, service.company.id, 0));
  });

  it('when it is discarded: not about a refund that was accepted', async () => {
    const accepted = await operationThatIs({ state: 'accepted', type: 'refund' });
    await unchanged([accepted], () => discardOpen(service.db, accepted));
  });

  it('when what is due is claimed: not about what is due later', async () => {
    const later = await operationThatIs({ state: 'in_doubt' });
    await changeOpen(later, `next_check_at = now() + interval '1 hour'`);
    const due = await operationThatIs({ state: 'in_doubt', of: failedId });
    await unchanged([later], async () =>
      assert.deepEqual(
        (await claimDue(service.db, 100, [1000], 1000)).map(({ id }) => id),
        [due.id],
      ),
    );
  });

  it('when what is due is claimed: not about a company that moves, or whose records are compared', async () => {
    const due = await operationThatIs({ state: 'in_doubt' });
    const companyId = service.company.id;
    const tables = {
      company_fences: `(company_id, state) VALUES ($1, 'leaving')`,
      company_gates: `(company_id, noticed_by, detail) VALUES ($1, 'operator', 'a test')`,
    };
    for (const [table, values] of Object.entries(tables)) {
      await service.db.query(`INSERT INTO ${table} ${values}`, [companyId]);
      await unchanged([due], () => claimDue(service.db, 100, [1000], 1000));
      await service.db.query(`DELETE FROM ${table}`);
    }
  });

  it('when what is due is claimed: not about the history of sample data that is being written', async () => {
    const companyId = service.company.id;
    const due = await operationThatIs({ state: 'in_doubt' });
    await changeOpen(due, `id = first_id(now() - interval '2 hours')`);
    await service.db.query(`INSERT INTO sample_data (company_id, state, ends_at) VALUES ($1, 'filling', now())`, [
      companyId,
    ]);
    try {
      assert.deepEqual(await claimDue(service.db, 100, [1000], 1000), []);
      await service.db.query(`UPDATE sample_data SET state = 'filled'`);
      assert.equal((await claimDue(service.db, 100, [1000], 1000)).length, 1);
    } finally {
      await service.db.query('DELETE FROM sample_data');
    }
  });

  it('when a reader claims one: not about what waits or is accepted', async () => {
    const accepted = await operationThatIs({ state: 'accepted', type: 'refund', of: failedId });
    const waiting = await operationThatIs({ state: 'waiting' });
    for (const one of [accepted, waiting]) assert.equal(await claimStopped(service.db, one), undefined);
  });
});

describe('an operation whose customer is at the bank', () => {
  const claimed = async (): Promise<string[]> => (await claimCustomersDue(service.db, 100)).map(({ id }) => id);

  it('is the only one that a bank is asked about', async () => {
    for (const state of operationStates.filter((one) => one !== 'with_customer')) {
      const open = await operationThatIs({ state, type: state === 'accepted' ? 'refund' : 'sale' });
      const before = await rowOf(open);
      assert.equal(await claimWithCustomer(service.db, open), undefined);
      await leaveWithCustomer(service.db, open, false);
      assert.deepEqual([await claimed(), await rowOf(open)], [[], before], state);
    }
  });

  it('is asked about and given up by one process at a time, until its lock runs out', async () => {
    const open = await operationThatIs({ state: 'with_customer' });
    assert.equal((await claimWithCustomer(service.db, open))?.id, open.id);
    await changeOpen(open, 'customer_check_at = now()');
    assert.deepEqual([await claimWithCustomer(service.db, open), await claimed()], [undefined, []]);
    assert.equal(await giveUpCustomer(service.db, open), undefined);
    await changeOpen(open, 'customer_locked_until = now()');
    assert.deepEqual(await claimed(), [open.id]);
    await leaveWithCustomer(service.db, open, true);
    assert.equal((await giveUpCustomer(service.db, open))?.id, open.id);
  });

  it('is claimed when it is due, unless its company moves or its records are compared', async () => {
    const [due, later] = [
      await operationThatIs({ state: 'with_customer' }),
      await operationThatIs({ state: 'with_customer', of: failedId }),
    ];
    await changeOpen(later, `customer_check_at = now() + interval '1 hour'`);
    const companyId = service.company.id;
    const tables = {
      company_fences: `(company_id, state) VALUES ($1, 'leaving')`,
      company_gates: `(company_id, noticed_by, detail) VALUES ($1, 'operator', 'a test')`,
    };
    for (const [table, values] of Object.entries(tables)) {
      await service.db.query(`INSERT INTO ${table} ${values}`, [companyId]);
      assert.deepEqual(await claimed(), [], table);
      await service.db.query(`DELETE FROM ${table}`);
    }
    const before = await rowOf(later);
    assert.deepEqual([await claimed(), await rowOf(later)], [[due.id], before]);
  });
});

it('nothing is opened or taken while the company is closed, except to record what is known', async () => {
  const closed = { code: 'restore_in_progress' };
  const key = { idempotencyKey: randomUUID() };
  await service.db.query('DELETE FROM open_transactions');
  const waiting = await operationThatIs({ state: 'waiting', of: failedId });
  await service.db.query(`UPDATE companies SET gate = 'closed' WHERE id = $1`, [service.company.id]);
  try {
    assert.equal((await refund(service, orderId, 100)).body.error.code, 'restore_in_progress');
    assert.equal((await placeOrder(service, shop, {}, key)).body.error.code, 'restore_in_progress');
    await assert.rejects(planCharges(service.db, [{ placed: undefined, sale: await renewal(), events: [] }]), closed);
    await assert.rejects(claimWaiting(service.db, waiting, 0), closed);
    assert.ok(await claimWaiting(service.db, waiting, 0, true));
  } finally {
    await service.db.query('UPDATE companies SET gate = NULL WHERE id = $1', [service.company.id]);
  }
  assert.equal((await placeOrder(service, shop, {}, key)).status, 201, 'its key was not used');
});

/** A charge of the order that the schedule plans. */
async function renewal(): Promise<NonNullable<PlannedCharge['sale']>> {
  const found = await findOrder(service.db, service.company.id, orderId);
  assert.ok(found);
  const { company_id, customer_id, payment_method_id, currency, card_brand, card_last4 } = found.order;
  const card = { customer_id, payment_method_id, currency, card_brand, card_last4 };
  const numbered = { cause: 'renewal', subject: ['renewal'], number: 0, reference: randomUUID() } as const;
  const id = newId(service.clock.nowMs());
  const sale = { company_id, order_id: orderId, id, type: 'sale', amount: 100, request_id: null } as const;
  return { ...sale, ...card, ...numbered, updated_at: new Date(), lockMs: 0 };
}

describe('what a processor lists as executed', () => {
  const companyId = (): string => service.company.id;
  const take = (reference: string, more: Partial<ListedOperation> = {}): Promise<boolean> =>
    takeExecuted(service.db, companyId(), { ...listed(reference), ...more });
  const later = (order_id: string, more: Partial<ListedOperation> = {}): Promise<boolean> =>
    takeLater(
      service.db,
      { company_id: companyId(), order_id, operation: { ...listed(randomUUID()), ...more } },
      following,
    );

  for (const [name, act] of Object.entries({
    'under its reference': (open: OpenKey, more?: Partial<ListedOperation>) => take(open.id, more),
    'under a later reference': (open: OpenKey, more?: Partial<ListedOperation>) => later(open.order_id, more),
  })) {
    it(`${name} is taken if it is the charge that is open`, async () => {
      const open = await operationThatIs({ state: 'in_doubt' });
      assert.equal(await act(open, { amount: 101 }), false, 'another amount');
      assert.equal(await act(open, { currency: 'eur' }), false, 'another currency');
      assert.equal(await act(await operationThatIs({ state: 'in_doubt', type: 'refund' })), false, 'a refund');
      const beside = await operationThatIs({ state: 'in_doubt', of: failedId });
      const before = await rowOf(beside);
      assert.equal(await act(await operationThatIs({ state: 'in_doubt' }), { amount: 100, currency: 'usd' }), true);
      assert.deepEqual(await rowOf(beside), before, 'another order');
    });

    it(`${name} is not taken from the process that is sending it`, async () => {
      const open = await operationThatIs({ state: 'sending' });
      await changeOpen(open, `locked_until = now() + interval '1 minute'`);
      assert.equal(await act(open), false);
      await changeOpen(open, 'locked_until = now()');
      assert.equal(await act(open), true);
      await changeOpen(open, `locked_until = now() + interval '1 minute'`);
      assert.equal(await act({ ...open, id: await referenceOf(open) }), true, 'it is in doubt');
    });
  }

  const referenceOf = async ({ id }: OpenKey): Promise<string> => {
    const [row] = await service.db.query<{ reference: string }>(
      'SELECT reference FROM open_transactions WHERE id = $1',
      [id],
    );
    return row?.reference ?? '';
  };

  it('is opened for its order alone', async () => {
    await service.db.query('DELETE FROM open_transactions');
    const opened = { id: newId(service.clock.nowMs()), at: new Date(), agoMs: 0 };
    const executed = { company_id: companyId(), order_id: failedId, operation: listed(randomUUID()) };
    assert.equal(await openExecuted(service.db, executed, opened), true);
    const rows = await service.db.query('SELECT order_id FROM open_transactions');
    assert.deepEqual(rows, [{ order_id: failedId }]);
  });
});

it('a void that is discarded leaves no mark in the list of transactions', async () => {
  const marks = (): Promise<object[]> => service.db.query('SELECT id FROM tombstones');
  const before = await marks();
  assert.ok(await discardOpen(service.db, await operationThatIs({ state: 'sending', type: 'void' })));
  assert.deepEqual(await marks(), before);
});

describe('the outcome of a charge', () => {
  /** Records that the charge of a failed order was declined again. Returns whether that had an effect. */
  async function record(
    state: OperationState,
    change: (charged: ChargeOutcome) => Partial<ChargeOutcome>,
    meanwhile: () => Promise<unknown> = async () => undefined,
  ): Promise<boolean> {
    const { company_id, order_id } = await operationThatIs({ state, of: failedId });
    const [sale] = await findOpenOf(service.db, company_id, order_id);
    const order = await findOrder(service.db, company_id, order_id);
    assert.ok(sale && order && isOpenSale(sale));
    await meanwhile();
    const outcome = { outcome: 'declined', failureCode: 'unknown', failureReason: 'no', response } as const;
    const charged: ChargeOutcome = { state: order, sale, outcome, nowMs: service.clock.nowMs() };
    const [recorded] = await recordPlainOutcomes(service.db, [{ ...charged, ...change(charged) }]);
    return recorded !== undefined;
  }

  const changeOrder = (change: string): Promise<unknown> =>
    service.db.query(`UPDATE orders SET ${change} WHERE id = $1`, [failedId]);

  it('is recorded for its order alone, also together with one that will be disputed', async () => {
    const other = (await placeOrder(service, await openShop(service, '4000000000000002'))).body.id;
    const beside = await operationThatIs({ state: 'in_doubt' });
    const charges: ChargeOutcome[] = [];
    for (const id of [failedId, other]) {
      await operationThatIs({ state: 'sending', of: id });
      const [sale] = await findOpenOf(service.db, service.company.id, id);
      const order = await findOrder(service.db, service.company.id, id);
      assert.ok(sale && order && isOpenSale(sale));
      const outcome = { outcome: 'approved', response, chargebackAfterMs: 1_000 } as const;
      charges.push({ state: order, sale, outcome, nowMs: service.clock.nowMs() });
    }
    const [plain, disputed] = charges;
    assert.ok(plain && disputed);
    const unsuccessful = { outcome: 'declined', failureCode: 'unknown', failureReason: 'no', response } as const;
    await recordPlainOutcomes(service.db, [{ ...plain, outcome: unsuccessful }, disputed]);
    const statuses = await service.db.query('SELECT id, status FROM orders WHERE id = ANY ($1) ORDER BY id', [
      [failedId, other],
    ]);
    assert.deepEqual(statuses, [
      { id: failedId, status: 'failed' },
      { id: other, status: 'succeeded' },
    ]);
    assert.equal(await stateOf(beside), 'in_doubt');
    const due = await service.db.query('SELECT order_id FROM scheduled_chargebacks');
    assert.deepEqual(due, [{ order_id: other }]);
  });

  it('is recorded while it is sent or in doubt', async () => {
    for (const state of ['sending', 'in_doubt', 'interrupted'] as const) assert.ok(await record(state, () => ({})));
  });

  it('has no effect if it belongs to an earlier sending, or to an earlier operation of the order', async () => {
    assert.equal(await record('sending', ({ sale }) => ({ sale: { ...sale, sending: 0 } })), false);
    assert.equal(await record('sending', ({ sale }) => ({ sale: { ...sale, id: newId(0) } })), false);
  });

  it('has no effect while the operation waits', async () => {
    assert.equal(await record('waiting', () => ({})), false);
  });

  it('has no effect if it is that nothing was executed, while a lookup may execute it', async () => {
    assert.equal(await record('in_doubt', () => ({ unexecuted: true })), false);
    assert.equal(await record('sending', () => ({ unexecuted: true })), true);
  });

  it('has no effect if the order has changed', async () => {
    assert.equal(
      await record(
        'sending',
        () => ({}),
        () => changeOrder('sequence = sequence + 1'),
      ),
      false,
    );
    assert.equal(
      await record(
        'sending',
        () => ({}),
        () => changeOrder(`status = 'pending'`),
      ),
      false,
    );
  });
});

describe('the database refuses an operation', () => {
  const refused: Readonly<Record<string, Forced>> = {
    'with an unknown state': { state: 'lost' },
    'with an unknown cause': { state: 'sending', cause: 'gift' },
    'whose cause is not that of its type': { state: 'sending', type: 'refund', cause: 'renewal' },
    'that waits and is no charge': { state: 'waiting', type: 'refund' },
    'that is accepted and still in flight': { state: 'accepted', type: 'refund', slot: inFlightSlot },
  };
  for (const [what, forced] of Object.entries(refused)) {
    it(what, async () => {
      await assert.rejects(operationThatIs(forced), { code: '23514' });
    });
  }

  it('that waits for nothing, or waits for something in another state', async () => {
    await operationThatIs({ state: 'sending' });
    await service.db.query(`ALTER TABLE open_transactions DISABLE TRIGGER open_transactions_state`);
    try {
      for (const change of [`state = 'waiting', waiting = true`, `waits_for = 'service'`, `in_doubt = true`]) {
        const write = service.db.query(`UPDATE open_transactions SET ${change} WHERE order_id = $1`, [orderId]);
        await assert.rejects(write, { code: '23514' });
      }
    } finally {
      await service.db.query(`ALTER TABLE open_transactions ENABLE TRIGGER open_transactions_state`);
    }
  });
});

describe('the release before', () => {
  const flagsOf: Readonly<Record<Exclude<OperationState, 'with_customer'>, string>> = {
    sending: 'in_doubt = false, waiting = false, interrupted = false',
    in_doubt: 'in_doubt = true, interrupted = false',
    interrupted: 'in_doubt = true, interrupted = true',
    waiting: 'in_doubt = false, interrupted = false, waiting = true',
    accepted: 'slot = id, in_doubt = false',
  };
  for (const [state, flags] of Object.entries(flagsOf)) {
    it(`makes an operation ${state} by its flags, and reads the flags of one that is`, async () => {
      const open = await operationThatIs({ state: 'sending', type: state === 'accepted' ? 'refund' : 'sale' });
      await service.db.query(`UPDATE open_transactions SET ${flags} WHERE id = $1`, [open.id]);
      assert.equal(await stateOf(open), state);
      const [row] = await service.db.query(
        'SELECT in_doubt, waiting, interrupted, slot = id AS accepted FROM open_transactions WHERE id = $1',
        [open.id],
      );
      const is = (...states: string[]): boolean => states.includes(state);
      assert.deepEqual(row, {
        in_doubt: is('in_doubt', 'interrupted'),
        waiting: is('waiting'),
        interrupted: is('interrupted'),
        accepted: is('accepted'),
      });
    });
  }

  it('leaves an operation alone whose customer is at the bank, and can only put it in doubt', async () => {
    const open = await operationThatIs({ state: 'with_customer' });
    await service.db.query('UPDATE open_transactions SET checks = checks + 1 WHERE id = $1', [open.id]);
    assert.equal(await stateOf(open), 'with_customer');
    await service.db.query('UPDATE open_transactions SET in_doubt = true WHERE id = $1', [open.id]);
    assert.equal(await stateOf(open), 'in_doubt');
  });

  it('records no cause and no subject: the database finds both', async () => {
    const companyId = service.company.id;
    const found: unknown[] = [];
    const describe = async (forced: Omit<Forced, 'state' | 'cause'>): Promise<void> => {
      const { id } = await operationThatIs({ ...forced, state: 'sending', cause: null });
      const [row] = await service.db.query<{ cause: string; subject: string[]; number: number }>(
        'SELECT cause, subject, number FROM open_transactions WHERE id = $1',
        [id],
      );
      found.push([row?.cause, row?.subject, row?.number]);
    };
    const reference = (subject: readonly string[], number: number) => deriveReference(companyId, { subject, number });
    await describe({ request_id: 'req_1' });
    await describe({ request_id: 'req_1', reference: reference(subjects.retry(orderId), 7) });
    await describe({ type: 'refund', reference: reference(subjects.refund(orderId), 2) });
    await describe({ type: 'refund' });
    await describe({ type: 'void', reference: reference(subjects.void(orderId), 0) });
    assert.deepEqual(found, [
      ['order', ['key'], 0],
      ['retry', ['retry', orderId], 7],
      ['refund', ['refund', orderId], 2],
      ['refund', ['refund key'], 0],
      ['void', ['void', orderId], 0],
    ]);
    assert.equal(operationCauses.length, 8);
  });
});
