import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Books, conditionOf, type SimulatedTransaction } from './books.ts';

/** Sends the webhooks of the simulated NMI: signed, and as often, late and wrongly as the faults say. */

export const noticeFaults = ['notice_twice', 'notice_late', 'notice_forged', 'notice_lost'] as const;

/** NMI repeats a webhook 20 times in three days. */
const attemptDelaysMs = [250, 250, 500, 1_000, 2_000];
const attemptsMax = 21;
const lateMs = 1_000;
const lookEveryMs = 200;

export interface Endpoint {
  readonly url: string;
  readonly signing_key: string;
}

/** A chargeback as the acquirer reports it: `reference` is the order id of the charge. */
export interface ChargebackEntry {
  readonly reference?: string;
  readonly change?: Readonly<Record<string, unknown>>;
}

export interface Webhooks {
  endpoint(endpoint: Endpoint | undefined): void;
  /** Sends an event with any content, as NMI does for what merchants subscribe to. */
  emit(type: string, body: object): void;
  transaction(transaction: SimulatedTransaction, type: string): void;
  batchFailed(processorId: string): void;
  /** An entry that is null is sent as it is. */
  chargebacks(entries: readonly (ChargebackEntry | null)[]): void;
  close(): void;
}

interface WebhookOptions {
  readonly books: Books;
  readonly nowMs: () => number;
  readonly pickFault: () => string | undefined;
  /** Only what survives a crash is reported. */
  readonly durable: () => Promise<void>;
}

const merchant = { id: '123456', name: 'Test Account' };
const processorOf = (id: string): object => ({ id, name: 'CC Processor', type: 'cc' });
const isMoney = ({ actions: [main] }: SimulatedTransaction): boolean =>
  main?.type === 'sale' || main?.type === 'refund';

const masked = ({ first6, last4 }: SimulatedTransaction): string => `${first6 ?? '******'}******${last4 ?? '****'}`;

/** As NMI writes it: month, day and year, without leading zeros. */
const dateOf = (ms: number): string => {
  const date = new Date(ms);
  return `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`;
};

function chargebackOf(books: Books, id: string, nowMs: number, { reference, change }: ChargebackEntry): object {
  const charge = [...books.all()].find(
    ({ order_id, actions: [main] }) => order_id === reference && main?.type === 'sale' && main.success,
  );
  return {
    id,
    date: dateOf(nowMs),
    customer_name: 'Someone Smith',
    ...(charge && { cc_number: masked(charge), amount: charge.actions[0]?.amount }),
    reason: '101: Introductory chargeback',
    ...change,
  };
}

function transactionBody(transaction: SimulatedTransaction, nowMs: number): object {
  const { id, order_id, currency, authorization_code, processor_id, actions } = transaction;
  const [main] = actions;
  return {
    merchant,
    features: { is_test_mode: true },
    transaction_id: id,
    transaction_type: 'cc',
    condition: conditionOf(transaction, nowMs),
    processor_id,
    order_id,
    currency,
    requested_amount: main?.amount,
    authorization_code,
    card: { cc_number: masked(transaction), cc_type: 'Visa' },
    action: { amount: main?.amount, action_type: main?.type, success: main?.success ? '1' : '0' },
  };
}

function batchBody(batch_id: string, processorId: string, settled: readonly SimulatedTransaction[]): object {
  const amount = settled.reduce((total, { actions: [main] }) => total + Number(main?.amount ?? 0), 0).toFixed(2);
  const count = settled.length;
  return {
    batch_id,
    count,
    amount,
    merchant,
    processor: processorOf(processorId),
    by_card_type: { visa: { count, amount } },
    transaction_ids: settled.map(({ id }) => id),
  };
}

export function openWebhooks({ books, nowMs, pickFault, durable }: WebhookOptions): Webhooks {
  let target: Endpoint | undefined;
  let looking: NodeJS.Timeout | undefined;
  let lastBatch = 100_000;
  let lastChargeback = 7_000_000_000;
  const batched = new Set<string>();

  async function post(body: string, signingKey = target?.signing_key ?? ''): Promise<boolean> {
    if (!target) return false;
    const nonce = randomBytes(8).toString('hex');
    const signature = createHmac('sha256', signingKey).update(`${nonce}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'webhook-signature': `t=${nonce},s=${signature}` };
    const response = await fetch(target.url, { method: 'POST', headers, body }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  }

  async function deliver(body: string): Promise<void> {
    const fault = pickFault();
    await durable();
    if (fault === 'notice_lost') return;
    if (fault === 'notice_late') await sleep(lateMs);
    if (fault === 'notice_forged') await post(body.replaceAll('sale', 'refund'), 'the signing key of another');
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (await post(body)) {
        if (fault === 'notice_twice') await post(body);
        return;
      }
      await sleep(attemptDelaysMs[Math.min(attempt, attemptDelaysMs.length - 1)], undefined, { ref: false });
    }
  }

  function emit(type: string, body: object): void {
    if (target) void deliver(JSON.stringify({ event_id: randomUUID(), event_type: type, event_body: body }));
  }

  /** One batch for each processor, of everything that has settled since the last look. */
  function look(): void {
    const settled = [...books.all()].filter(
      (one) => !batched.has(one.id) && isMoney(one) && conditionOf(one, nowMs()) === 'complete',
    );
    for (const { id } of settled) batched.add(id);
    for (const [processorId, ofProcessor] of Map.groupBy(settled, ({ processor_id }) => processor_id)) {
      emit('settlement.batch.complete', batchBody(String((lastBatch += 1)), processorId, ofProcessor));
    }
  }

  return {
    endpoint(endpoint) {
      target = endpoint;
      clearInterval(looking);
      if (endpoint) looking = setInterval(look, lookEveryMs).unref();
    },
    emit,
    transaction(transaction, type) {
      emit(type, transactionBody(transaction, nowMs()));
    },
    batchFailed(processorId) {
      emit('settlement.batch.failure', {
        batch_id: String((lastBatch += 1)),
        merchant,
        processor: processorOf(processorId),
      });
    },
    chargebacks(entries) {
      emit('chargeback.batch.complete', {
        merchant,
        processor: processorOf('ccprocessora'),
        count: entries.length,
        chargeback_amount: '0.00',
        chargebacks: entries.map(
          (entry) => entry && chargebackOf(books, String((lastChargeback += 1)), nowMs(), entry),
        ),
      });
    },
    close: () => clearInterval(looking),
  };
}
