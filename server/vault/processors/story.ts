import { randomUUID } from 'node:crypto';
import { systemClock } from '../../platform/clock.ts';
import { Secret } from '../../platform/secret.ts';
import { CardNumber } from '../card-number.ts';
import type { Configuration, ProcessorKind } from './kind.ts';
import type { CardAtProcessor, ChargeRequest, CredentialUse, Processor } from './processor.ts';
import { type Exchanged, fieldsOf, listening, openScrubber, scrubbedAnswer } from './recording.ts';
import { testEnvironmentOf, testExpiry, type Trial } from './test-cards.ts';

/** The calls of the product to a connector, at a test account: what `svc processors record` records. */

/** As orders and renewals send it. */
const uses = {
  first: { initiator: 'customer', sequence: 'first' },
  repeated: { initiator: 'customer', sequence: 'unscheduled' },
  renewal: { initiator: 'merchant', sequence: 'subsequent' },
} as const satisfies Record<string, Omit<CredentialUse, 'networkTransactionId'>>;

export interface RecordedCall {
  readonly name: string;
  readonly call: 'verify' | 'prepare' | 'charge' | 'lookup' | 'refund';
  /** Which trial of the test environment it is about. */
  readonly trial: 'approved' | 'declined';
  /** The request without the card. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly exchanges: readonly RecordedExchange[];
  readonly outcome: Readonly<Record<string, unknown>>;
}

interface RecordedExchange {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly string[];
  /** Null if the processor did not answer. */
  readonly status: number | null;
  readonly type: string;
  readonly answer: string;
}

export interface Recording {
  readonly kind: ProcessorKind['kind'];
  readonly calls: readonly RecordedCall[];
}

const price = 1234;

interface Raw {
  readonly name: string;
  readonly call: RecordedCall['call'];
  readonly trial: RecordedCall['trial'];
  readonly request: Record<string, unknown>;
  readonly exchanges: readonly Exchanged[];
  readonly outcome: object;
}

/** Makes the calls at a test account, and returns them without what must not be kept. */
export async function recordStory(
  kind: ProcessorKind,
  processor: Processor,
  configuration: Configuration,
): Promise<Recording> {
  const calls: Raw[] = [];
  await tellStory(kind, processor, (raw) => calls.push(raw));
  const { numbers } = testEnvironmentOf(kind.kind);
  // A code of a currency is no secret, and occurs everywhere.
  const entered = Object.values(configuration).filter((one) => !/^[A-Za-z]{3}(,|$)/.test(one));
  const scrubber = openScrubber([...entered, ...numbers]);
  return { kind: kind.kind, calls: calls.map((raw) => scrubbed(raw, scrubber)) };
}

function scrubbed(raw: Raw, scrubber: ReturnType<typeof openScrubber>): RecordedCall {
  const { name, call, trial, request, exchanges, outcome } = raw;
  return {
    name,
    call,
    trial,
    request: scrubber.value(request) as RecordedCall['request'],
    exchanges: exchanges.map(({ method, path, query, body, answer }) => ({
      method,
      path: scrubber.text(path.join('/')),
      fields: [...fieldsOf(query), ...fieldsOf(body)].filter((field) => field !== ''),
      status: answer?.status ?? null,
      type: answer?.type ?? '',
      answer: answer ? scrubbedAnswer(scrubber, answer.type, answer.text) : '',
    })),
    outcome: scrubber.value(outcome) as RecordedCall['outcome'],
  };
}

const cardOf = ({ number }: Trial): ChargeRequest['card'] => ({
  number: new CardNumber(number),
  cardId: randomUUID(),
  expMonth: testExpiry.exp_month,
  expYear: testExpiry.exp_year,
});

/** Adds the card to a request that was recorded without it. */
export function withCard(
  kind: ProcessorKind,
  { call, trial, request }: Pick<RecordedCall, 'call' | 'trial' | 'request'>,
  keep: (token: string) => void = () => undefined,
) {
  if (call === 'refund') return { ...request };
  const { saved, ...others } = request;
  const chosen = testEnvironmentOf(kind.kind)[trial];
  const name = { name: chosen.holderName ?? 'Test Customer' };
  const card = cardOf(chosen);
  return {
    ...others,
    ...(saved !== undefined && { savedCard: savedAs(typeof saved === 'string' ? saved : undefined, keep) }),
    ...(call !== 'lookup' && { card, billing: { ...noBilling, ...name } }),
    ...(call === 'verify' && { cvc: new Secret(chosen.cvc) }),
  };
}

/** What the processor has saved of the card, which the vault keeps. */
const savedAs = (token: string | undefined, keep: (token: string) => void): CardAtProcessor => ({
  name: 'a card of a recording',
  token,
  isOld: false,
  async keep(made) {
    keep(made);
    return true;
  },
});

const noBilling = {
  email: null,
  phone: null,
  line1: '888 Test Street',
  line2: null,
  city: 'Testville',
  state: 'CA',
  postalCode: '77777',
  country: 'US',
} as const;

/** Makes one call of a connector. */
export function makeCall(processor: Processor, call: RecordedCall['call'], request: object): Promise<object> {
  const made = processor[call] as ((given: object) => Promise<object>) | undefined;
  if (!made) throw new Error(`this processor has no call ${call}`);
  return made.call(processor, request);
}

async function tellStory(kind: ProcessorKind, processor: Processor, tell: (raw: Raw) => void): Promise<void> {
  const companyId = randomUUID();
  /** What the processor has saved of the card of each trial. */
  const saved = new Map<string, string>();
  const make = async (
    name: string,
    call: RecordedCall['call'],
    trial: RecordedCall['trial'],
    request: Record<string, unknown>,
  ): Promise<Record<string, unknown>> => {
    const sent = { companyId, validUntilMs: systemClock.nowMs() + kind.requestLifeMs, ...request };
    const whole = withCard(kind, { call, trial, request: sent }, (token) => saved.set(trial, token));
    const { result, exchanges } = await listening(() => makeCall(processor, call, whole));
    tell({ name, call, trial, request: { ...request }, exchanges, outcome: result });
    return result as Record<string, unknown>;
  };

  /** As the vault charges: what is prepared has a handle, which is stored before the charge. */
  async function charge(name: string, trial: RecordedCall['trial'], use: keyof typeof uses, network: string | null) {
    const reference = randomUUID();
    const { amount = price } = testEnvironmentOf(kind.kind)[trial];
    const credential = { ...uses[use], networkTransactionId: network };
    const request: Record<string, unknown> = { reference, amount, currency: 'usd', credential };
    const keepsCards = processor.removeSaved !== undefined;
    if (keepsCards) request.saved = saved.get(trial) ?? null;
    if (processor.prepare) {
      const prepared = await make(`${name}: prepare`, 'prepare', trial, request);
      if (prepared.outcome !== 'prepared') return { reference, handle: undefined, outcome: prepared };
      request.handle = prepared.handle;
    }
    if (keepsCards) request.saved = saved.get(trial) ?? null;
    const outcome = await make(name, 'charge', trial, request);
    return { reference, handle: request.handle, outcome };
  }

  if (processor.verify) await make('verify', 'verify', 'approved', { reference: randomUUID() });
  const first = await charge('first charge', 'approved', 'first', null);
  const network = (first.outcome.networkTransactionId as string | undefined) ?? null;
  const again = {
    reference: first.reference,
    kind: 'charge',
    ageMs: 1_000,
    ...(first.handle !== undefined && { handle: first.handle }),
  };
  await make('look-up of the first charge', 'lookup', 'approved', again);
  await charge('equal amount again', 'approved', 'repeated', network);
  await charge('renewal', 'approved', 'renewal', network);
  await charge('declined charge', 'declined', 'first', null);
  const response = first.outcome.response as { transaction_id?: string } | undefined;
  const ofCharge = { chargeReference: first.reference, chargeTransactionId: response?.transaction_id };
  const refund = { reference: randomUUID(), amount: 234, currency: 'usd', ...ofCharge };
  await make('partial refund', 'refund', 'approved', refund);
  await make('look-up of the refund', 'lookup', 'approved', {
    reference: refund.reference,
    kind: 'refund',
    ageMs: 1_000,
    ...ofCharge,
  });
}
