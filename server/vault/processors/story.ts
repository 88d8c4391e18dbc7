import { randomUUID } from 'node:crypto';
import { systemClock } from '../../platform/clock.ts';
import { Secret } from '../../platform/secret.ts';
import { CardNumber } from '../card-number.ts';
import type { Configuration, ProcessorKind } from './kind.ts';
import type { CardAtProcessor, ChargeRequest, CredentialUse, Processor } from './processor.ts';
import { type Exchanged, fieldsOf, listening, openScrubber, scrubbedAnswer } from './recording.ts';
import { testEnvironmentOf, testExpiry, type Trial } from './test-cards.ts';

/**
 * The calls of the product to a connector, at a test account: what `svc processors record` records, what the live suites send, and with
 * the amounts, cards and expectations of a rehearsal.
 */

/** As orders and renewals send it. */
const uses = {
  first: { initiator: 'customer', sequence: 'first' },
  repeated: { initiator: 'customer', sequence: 'unscheduled' },
  retry: { initiator: 'merchant', sequence: 'unscheduled' },
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

/** Of its payments, and of a refund in part. Test environments decide by no amount of this size. */
export const storyAmounts = { charge: 1234, refund: 234 } as const;
const price = storyAmounts.charge;

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
    ...(saved !== undefined && { savedCard: savedAs(trial, typeof saved === 'string' ? saved : undefined, keep) }),
    ...(call !== 'lookup' && { card, billing: { ...testBilling, ...name } }),
    ...(call === 'verify' && { cvc: new Secret(chosen.cvc) }),
    // As a checkout: the code goes with the first charge.
    ...(isFirst(request) && { cvc: { reveal: () => chosen.cvc } }),
  };
}

const isFirst = ({ credential }: RecordedCall['request']): boolean =>
  (credential as CredentialUse | undefined)?.sequence === 'first';

/** What the processor has saved of the card, which the vault keeps. */
const savedAs = (
  trial: RecordedCall['trial'],
  token: string | undefined,
  keep: (token: string) => void,
): CardAtProcessor => ({
  name: `the ${trial} card of a recording`,
  token,
  isOld: false,
  async keep(made) {
    keep(made);
    return true;
  },
});

/** The address that NMI's test mode matches. */
export const testBilling = {
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
  const equal = await charge('equal amount again', 'approved', 'repeated', network);
  await charge('renewal', 'approved', 'renewal', network);
  await charge('declined charge', 'declined', 'first', null);
  await charge('retry of the declined charge', 'declined', 'retry', null);
  const ofCharge = chargeOf(first);
  const refund = { reference: randomUUID(), amount: storyAmounts.refund, currency: 'usd', ...ofCharge };
  await make('partial refund', 'refund', 'approved', refund);
  await make('look-up of the refund', 'lookup', 'approved', {
    reference: refund.reference,
    kind: 'refund',
    ageMs: 1_000,
    ...ofCharge,
  });
  const whole = { reference: randomUUID(), amount: price, currency: 'usd', ...chargeOf(equal) };
  await make('full refund', 'refund', 'approved', whole);
}

function chargeOf({ reference, outcome }: { readonly reference: string; readonly outcome: Record<string, unknown> }) {
  const response = outcome.response as { transaction_id?: string } | undefined;
  return { chargeReference: reference, chargeTransactionId: response?.transaction_id };
}

/** What each part of the story must end with. A look-up of a refund is `unknown` where only a notice decides it. */
const ends: Readonly<Record<string, readonly string[]>> = {
  verify: ['verified'],
  'first charge': ['approved'],
  'look-up of the first charge': ['approved'],
  'equal amount again': ['approved'],
  renewal: ['approved'],
  'declined charge': ['declined'],
  'retry of the declined charge': ['declined'],
  'partial refund': ['approved'],
  'look-up of the refund': ['approved', 'unknown'],
  'full refund': ['approved'],
};

/** Where an account answers otherwise than the product expects: one sentence for each. */
export function problemsOf({ kind, calls }: Recording): string[] {
  const codes: readonly string[] = testEnvironmentOf(kind).declined.failureCodes;
  // What was prepared is judged by its charge, if there was one.
  const last = new Map(calls.map(({ name, outcome }) => [name.replace(/: prepare$/, ''), outcome]));
  return Object.entries(ends).flatMap(([name, expected]) => {
    const found = last.get(name);
    if (!found) return name === 'verify' ? [] : [`${name}: was not made`];
    const { outcome, failureCode, reason } = found;
    if (!expected.includes(String(outcome))) {
      return [
        `${name}: ${[outcome, failureCode, reason].filter(Boolean).join(' ')} instead of ${expected.join(' or ')}`,
      ];
    }
    const isOtherCode = outcome === 'declined' && !codes.includes(String(failureCode));
    return isOtherCode ? [`${name}: ${String(failureCode)} instead of ${codes.join(' or ')}`] : [];
  });
}
