import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { openShop, type Shop, succeeded } from '../../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import { newId } from '../../../platform/ids.ts';
import type { ListedOperation } from '../../../vault/processors/processor.ts';
import { takeLater } from '../recovery/adopt-queries.ts';
import { claimDue } from '../recovery/due-queries.ts';
import {
  acceptOpen,
  claimWaiting,
  closeOpen,
  discardUnexecuted,
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
import { deriveReference, subjects } from './reference.ts';

let service: TestService;
let shop: Shop;
let orderId: string;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  ({ id: orderId } = await succeeded(service, shop));
});
after(() => service.stop());

interface Forced {
  readonly state: string;
  readonly type?: 'sale' | 'refund' | 'void';
  readonly cause?: string | null;
  readonly slot?: string;
  readonly reference?: string;
  readonly request_id?: string | null;
}

/** An operation of the order, put into a state by force. Any other one of the order is removed. */
async function operationThatIs({ state, type = 'sale', cause, slot, reference, request_id }: Forced): Promise<OpenKey> {
  const id = newId(service.clock.nowMs());
  await service.db.query('DELETE FROM open_transactions WHERE order_id = $1', [orderId]);
  await service.db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, locked_until, next_check_at, state, waits_for, cause, subject, number, reference,
       request_id)
     SELECT company_id, id, $2, $3, customer_id, payment_method_id, $4, 100, currency, card_brand, card_last4, now(),
       now(), now(), $5, CASE WHEN $5 = 'waiting' THEN 'service' END, $6, '{key}', 0, $7, $8 FROM orders WHERE id = $1`,
    [
      orderId,
      slot ?? (state === 'accepted' ? id : inFlightSlot),
      id,
      type,
      state,
      cause === undefined ? (type === 'sale' ? 'renewal' : type) : cause,
      reference ?? id,
      request_id ?? null,
    ],
  );
  return { company_id: service.company.id, order_id: orderId, id, sending: 1 };
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
  listed: ({ company_id, order_id, id }) => takeLater(service.db, { company_id, order_id, operation: listed(id) }, 0),
  nothing_executed: (open) => discardUnexecuted(service.db, open),
};

const typeFor = (state: OperationState, because: OperationTrigger): 'sale' | 'refund' =>
  state === 'accepted' || (because === 'accepted' && state !== 'waiting') ? 'refund' : 'sale';

describe('an open operation', () => {
  for (const state of operationStates) {
    for (const because of operationTriggers) {
      const to = operationMoves.find(([from, trigger]) => from === state && trigger === because)?.[2];
      it(`that is ${state} ${to === undefined ? 'stays so' : `becomes ${to}`} because of ${because}`, async () => {
        const open = await operationThatIs({ state, type: typeFor(state, because) });
        await moves[because](open);
        assert.equal(await stateOf(open), to ?? state);
      });
    }
  }

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
  const flagsOf: Readonly<Record<OperationState, string>> = {
    sending: 'in_doubt = false, waiting = false, interrupted = false',
    in_doubt: 'in_doubt = true, interrupted = false',
    interrupted: 'in_doubt = true, interrupted = true',
    waiting: 'in_doubt = false, interrupted = false, waiting = true',
    accepted: 'slot = id, in_doubt = false',
  };
  for (const state of operationStates) {
    it(`makes an operation ${state} by its flags, and reads the flags of one that is`, async () => {
      const open = await operationThatIs({ state: 'sending', type: state === 'accepted' ? 'refund' : 'sale' });
      await service.db.query(`UPDATE open_transactions SET ${flagsOf[state]} WHERE id = $1`, [open.id]);
      assert.equal(await stateOf(open), state);
      const [row] = await service.db.query(
        'SELECT in_doubt, waiting, interrupted, slot = id AS accepted FROM open_transactions WHERE id = $1',
        [open.id],
      );
      const is = (...states: OperationState[]): boolean => states.includes(state);
      assert.deepEqual(row, {
        in_doubt: is('in_doubt', 'interrupted'),
        waiting: is('waiting'),
        interrupted: is('interrupted'),
        accepted: is('accepted'),
      });
    });
  }

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
    assert.equal(operationCauses.length, 6);
  });
});
