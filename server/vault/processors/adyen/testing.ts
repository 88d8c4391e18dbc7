import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { listen } from '../../../../tests/support/listen.ts';
import { chargeOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { systemClock } from '../../../platform/clock.ts';
import { CardNumber } from '../../card-number.ts';
import { checkConfiguration } from '../kind.ts';
import type { Notice, NoticeSubject, Reception } from '../notices.ts';
import type { ChargeRequest, LookupOutcome, Outcome, Processor, ProcessorCard } from '../processor.ts';
import { adyenKind } from './kind.ts';

/** The simulator of Adyen with a receiver of its notices, for the tests of the connector. */

export const apiKey = `AQE${'x'.repeat(60)}`;
export const hmacKey = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056';
export const merchantAccount = 'SvcECOM';
export const cardNumber = `4${Array.from({ length: 15 }, () => randomInt(10)).join('')}`;
export const card: ProcessorCard = {
  number: new CardNumber(cardNumber),
  cardId: randomUUID(),
  expMonth: 3,
  expYear: 2032,
};
export const companyId = randomUUID();

export const configuration = {
  api_key: apiKey,
  merchant_account: merchantAccount,
  hmac_key: hmacKey,
  webhook_username: 'svc',
  webhook_password: 'a password',
};

export function open(url: string, changes: Record<string, string> = {}, timeoutMs = 10_000): Processor {
  const entered = { ...configuration, api_url: `${url}/checkout/v72`, ...changes };
  return adyenKind.open(checkConfiguration(adyenKind, entered), { timeoutMs, extraOrigins: [new URL(url).origin] });
}

export const newCharge = (changes: Partial<ChargeRequest> = {}): ChargeRequest =>
  chargeOf(card, { companyId, currency: 'eur', ...changes });

export function transactionOf(outcome: Outcome | LookupOutcome): string {
  assert.ok(outcome.outcome === 'approved' && outcome.response.transaction_id, inspect(outcome));
  return outcome.response.transaction_id;
}

interface Operation {
  readonly kind: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly voided: boolean;
  readonly captures?: number;
  readonly transaction_id: string;
}

export interface FakeAdyen extends Simulator {
  readonly processor: Processor;
  /** What the receiver accepted. */
  readonly received: readonly Notice[];
  /** Why it refused the others. */
  readonly refused: readonly string[];
  executed(reference: string): Promise<Operation[]>;
  /** Waits for a notice about a reference. */
  noticed(reference: string, type: string): Promise<NoticeSubject>;
  prepared(changes?: Partial<ChargeRequest>): Promise<ChargeRequest & { readonly handle: string }>;
  charged(changes?: Partial<ChargeRequest>): Promise<ChargeRequest & { readonly chargeTransactionId: string }>;
  /** Takes back all faults. */
  reset(): Promise<void>;
  /** Checks that neither the journal nor the output contains what is secret. */
  checkTraces(): Promise<void>;
}

function referenceOf({ about }: Notice): string | null {
  if (about.kind === 'operation') return about.reference;
  if (about.kind === 'dispute') return about.dispute.charge.reference;
  return 'charge' in about ? about.charge.reference : null;
}

/** Receives notices as the API does: the adapter reads them, and the response says whether it accepts them. */
async function startReceiver(processor: Processor) {
  const received: Notice[] = [];
  const refused: string[] = [];
  function take(headers: IncomingMessage['headers'], body: Buffer): Reception {
    const delivery = { headers: headers as Record<string, string>, body, nowMs: systemClock.nowMs() };
    const reception = processor.receive?.(delivery) ?? { outcome: 'refused', reason: 'no receiver' };
    if (reception.outcome === 'accepted') received.push(...reception.notices);
    else refused.push(reception.reason);
    return reception;
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const reception = take(request.headers, Buffer.concat(chunks));
      response.statusCode = reception.outcome === 'accepted' ? 200 : 401;
      response.end(reception.outcome === 'accepted' ? reception.reply : 'refused');
    });
  });
  return { server, received, refused, url: `${await listen(server)}/` };
}

export async function startAdyen(): Promise<FakeAdyen> {
  const options = { 'hmac-key': hmacKey, 'merchant-account': merchantAccount, 'request-life-ms': 400 };
  const simulator = await startSimulator('adyen', apiKey, options);
  const processor = open(simulator.url);
  const { server, received, refused, url } = await startReceiver(processor);
  const find = (reference: string, type: string): Notice | undefined =>
    received.find((notice) => notice.type === type && referenceOf(notice) === reference);

  async function prepared(changes: Partial<ChargeRequest> = {}) {
    const request = newCharge(changes);
    const preparation = await processor.prepare?.(request);
    assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
    return { ...request, handle: preparation.handle };
  }

  return {
    ...simulator,
    processor,
    received,
    refused,
    prepared,
    executed: async (reference) => {
      const operations: Operation[] = (await simulator.call('GET', '/journal')).operations;
      return operations.filter((operation) => operation.reference === reference);
    },
    async noticed(reference, type) {
      await waitUntil(async () => find(reference, type) !== undefined);
      return find(reference, type)?.about ?? { kind: 'other' };
    },
    async charged(changes) {
      const { handle, ...request } = await prepared(changes);
      return { ...request, chargeTransactionId: transactionOf(await processor.charge({ ...request, handle })) };
    },
    reset: () =>
      simulator.control({
        faults: {},
        next: [],
        seed: 1,
        settle_after_ms: 0,
        revoked: false,
        additional_data: false,
        notice_url: url,
        notice_username: configuration.webhook_username,
        notice_password: configuration.webhook_password,
      }),
    async checkTraces() {
      const traces = await simulator.traces();
      for (const secret of [cardNumber, apiKey, hmacKey]) assert.ok(!traces.includes(secret), 'a secret in the traces');
    },
    async stop() {
      await simulator.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}
