import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import { dayMs } from '../../platform/durations.ts';
import { type ExternalAuthentication, notConfirmedReason } from './authentication.ts';
import type {
  CardAtProcessor,
  ChargeRequest,
  LookupOutcome,
  Outcome,
  Presence,
  Processor,
  ProcessorCard,
  ResumeOutcome,
} from './processor.ts';
import type { SetUpOutcome } from './setup.ts';

/** The customer of the conformance suite, and how it calls a processor that leads customers to the bank. */

export interface AuthenticationSubject {
  readonly processor: Processor;
  readonly card: ProcessorCard;
  /** Whether banks ask the customer, recognize the customer, or do neither. */
  banks(what: 'ask' | 'recognize' | 'nothing'): Promise<void>;
  /** How often this reference took or holds money. */
  executions(reference: string): Promise<number>;
  /** With what the bank refuses the next payment, after the customer has confirmed it. */
  readonly declineNext: () => Promise<void>;
  /** The handle of the notice about this reference, at a processor that sends one. */
  readonly noticed?: (reference: string) => Promise<string | undefined>;
  /** False if the customer has to come back before the bank is asked to pay. */
  readonly completesAlone?: boolean;
}

export type OpenSubject = (t: TestContext) => Promise<AuthenticationSubject>;

export const presence: Presence = {
  returnUrl: 'https://shop.example/pay/return?returned=1',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  acceptHeader: 'text/html',
  browser: { language: 'de-DE', colorDepth: 24, screenHeight: 900, screenWidth: 1440, timeZoneOffsetMinutes: -60 },
};

export const external: ExternalAuthentication = {
  cavv: Buffer.from('20 bytes of the bank').toString('base64'),
  eci: '05',
  directoryServerId: 'f38e6947-5388-41a6-bca4-b49723c1a437',
  version: '2.2.0',
};

const givenUp: Outcome = { outcome: 'not_sent', reason: 'given up', isFinal: true };
export const never: LookupOutcome = { outcome: 'not_found', isFinal: true };

/** Calls a processor as the vault does: what it has stored first decides between completing a charge and giving it up. */
export function asTheVault(processor: Processor) {
  const handles = new Map<string, string | null>();
  const stored = (reference: string) => {
    const handle = handles.get(reference);
    return handle ? { handle } : {};
  };
  /** Undefined if the charge was given up. */
  function keep(reference: string, handle: string): string | undefined {
    if (!handles.has(reference)) handles.set(reference, handle);
    return handles.get(reference) ?? undefined;
  }
  const lookupOf = ({ companyId, reference, amount, currency, card, authorizesOnly }: ChargeRequest) => ({
    ...({ companyId, reference, kind: authorizesOnly ? 'authorization' : 'charge', ageMs: 1_000 } as const),
    sent: { amount, currency, last4: card.number.last4 },
  });
  return {
    async charge(request: ChargeRequest): Promise<Outcome> {
      const { reference } = request;
      if (handles.get(reference) === null) return givenUp;
      if (!processor.prepare || handles.has(reference)) return processor.charge({ ...request, ...stored(reference) });
      const prepared = await processor.prepare(request);
      if (prepared.outcome !== 'prepared') return prepared;
      const handle = keep(reference, prepared.handle);
      return handle ? processor.charge({ ...request, handle }) : givenUp;
    },
    async resume(
      request: ChargeRequest,
      hint: { returned?: Readonly<Record<string, string>> | undefined; noticedHandle?: string } = {},
    ): Promise<ResumeOutcome> {
      const { reference } = request;
      if (handles.get(reference) === null) return never;
      const { returned, noticedHandle } = hint;
      const found = await processor.resume?.({
        ...{ ...lookupOf(request), ...stored(reference) },
        ...(returned && { returned }),
        ...(noticedHandle !== undefined && { noticedHandle }),
      });
      assert.ok(found, 'an adapter that leads to the bank continues afterwards');
      if (found.outcome !== 'prepared') return found;
      const handle = keep(reference, found.handle);
      return handle ? processor.lookup({ ...lookupOf(request), handle }) : never;
    },
    async end(request: ChargeRequest): Promise<LookupOutcome> {
      const { reference } = request;
      if (processor.prepare && !handles.has(reference)) handles.set(reference, null);
      if (handles.get(reference) !== null) return processor.lookup({ ...lookupOf(request), ...stored(reference) });
      if (processor.findsBy === 'notice') await processor.lookup({ ...lookupOf(request), ageMs: dayMs });
      return never;
    },
  };
}

export type Memory = ReturnType<typeof asTheVault>;

export function assertAsked(outcome: Outcome): string {
  assert.ok(outcome.outcome === 'needs_customer', inspect(outcome));
  assert.match(outcome.action.url, /^https?:/);
  return outcome.action.url;
}

export function savedCardOf(): CardAtProcessor & { readonly kept: string[] } {
  const kept: string[] = [];
  return {
    name: randomUUID(),
    get token() {
      return kept.at(-1);
    },
    isOld: false,
    kept,
    keep: async (token) => kept.push(token) > 0,
  };
}

/** The customer did not confirm. */
export function assertRefused(found: Outcome | ResumeOutcome | SetUpOutcome): void {
  assert.ok(found.outcome === 'declined', inspect(found));
  assert.deepEqual(
    [found.failureCode, found.failureReason, found.authentication?.status, found.authentication?.liabilityShifted],
    ['transaction_not_allowed', notConfirmedReason, 'failed', false],
  );
}

/** Of a charge without the customer. */
export const byMerchant = { initiator: 'merchant', sequence: 'subsequent' } as const;
