import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { type Answer, type Exchange, jsonOf, type Silence } from '../exchange.ts';
import { wantsCustomerReason } from '../authentication.ts';
import {
  failureReasons,
  type LookupOutcome,
  type LookupRequest,
  noResponse,
  type Outcome,
  type Processor,
  type ResumeOutcome,
  type ResumeRequest,
} from '../processor.ts';
import type { ResumeSetUp, SetUpOutcome } from '../setup.ts';
import { type Approved, lookupOutcomeOf, outcomeOf } from './answers.ts';
import { cardOf, describe } from './described.ts';

/** The optional calls of docs/acquirer.md for charges and cards that a bank asks its customer to confirm. */

interface Calls {
  readonly exchange: Exchange;
  readonly post: (path: string, body: object, validUntilMs: number) => Promise<Answer | Silence>;
  readonly find: (reference: string) => Promise<Answer | Silence>;
  readonly descriptor: string | undefined;
}

const notFound = checkOf(Type.Object({ error: Type.Literal('not_found') }));

/** The bridge does not have the call. */
const isMissing = (answer: Answer | Silence): boolean =>
  'status' in answer && [404, 405, 501].includes(answer.status) && !notFound.Check(jsonOf(answer));

const post = (exchange: Exchange, path: string, body: object): Promise<Answer | Silence> =>
  exchange({ method: 'POST', path: [path], body: { type: 'application/json', content: JSON.stringify(body) } });

/** A bridge asks for the customer of a charge without one, or leads nowhere: the charge was ended. */
export function withoutPresence(found: LookupOutcome): Outcome {
  if (found.outcome === 'not_found' && !found.isFinal) {
    return { outcome: 'unknown', reason: 'the charge waits for the customer, and could not be ended yet' };
  }
  if (found.outcome !== 'not_found') return found;
  const failureCode = 'transaction_not_allowed';
  return {
    outcome: 'declined',
    response: { ...noResponse, response_text: failureReasons[failureCode] },
    failureCode,
    failureReason: wantsCustomerReason,
    needsAuthentication: true,
  };
}

type Found = ReturnType<typeof outcomeOf> | LookupOutcome;

function savedBy({ response, networkTransactionId: id, authentication }: Approved): SetUpOutcome {
  const networkTransactionId = id ?? null;
  const { avs_result: avsResult, cvv_result: cvvResult } = response;
  return { outcome: 'set_up', networkTransactionId, avsResult, cvvResult, ...(authentication && { authentication }) };
}

/** Neither saved nor refused. */
function undecided(found: Exclude<Found, { outcome: 'approved' | 'declined' | 'needs_customer' }>): SetUpOutcome {
  if ('isFinal' in found && found.isFinal) return { outcome: 'ended' };
  const reason = 'reason' in found ? found.reason : `the acquirer did not save the card: ${found.outcome}`;
  return { outcome: found.outcome === 'not_sent' ? 'not_sent' : 'unknown', reason };
}

function setUpOutcomeOf(found: Found, handle: string): SetUpOutcome {
  if (found.outcome === 'approved') return savedBy(found);
  if (found.outcome === 'declined') return found;
  if (found.outcome !== 'needs_customer') return undecided(found);
  return { outcome: 'needs_customer', handle, ...(found.action && { action: found.action }) };
}

export function authenticationCalls({ exchange, post: postUntil, find, descriptor }: Calls) {
  /** What the bridge says after the customer came back. One that needs nothing of it is only asked. */
  async function returned(reference: string, parameters: Readonly<Record<string, string>>): Promise<Answer | Silence> {
    const answer = await post(exchange, 'returns', { reference, parameters });
    return isMissing(answer) ? find(reference) : answer;
  }
  const end = async (request: LookupRequest): Promise<LookupOutcome> => {
    const found = lookupOutcomeOf(await post(exchange, 'endings', { reference: request.reference }), request);
    const isWaiting = found.outcome === 'needs_customer';
    return isWaiting ? { outcome: 'unknown', reason: 'the acquirer did not end the charge' } : found;
  };
  const resume = async (request: ResumeRequest): Promise<ResumeOutcome> => {
    const { reference, returned: parameters } = request;
    return lookupOutcomeOf(await (parameters ? returned(reference, parameters) : find(reference)), request);
  };
  const setUps = {
    async setUp({ reference, card, validUntilMs, startsSeries = false, ...about }) {
      const body = { reference, card: cardOf(card), ...describe(about, descriptor), starts_series: startsSeries };
      const answer = await postUntil('verifications', body, validUntilMs);
      if (isMissing(answer)) return { outcome: 'not_sent', reason: 'the acquirer saves no cards' };
      const sent = { kind: 'verification', reference, chargeReference: null, last4: card.number.last4 } as const;
      return setUpOutcomeOf(outcomeOf(answer, sent), reference);
    },
    async resumeSetUp({ companyId, handle: reference, returned: parameters }: ResumeSetUp) {
      const answer = await (parameters ? returned(reference, parameters) : find(reference));
      return setUpOutcomeOf(lookupOutcomeOf(answer, { companyId, reference }), reference);
    },
    async endSetUp({ companyId, handle: reference }) {
      return setUpOutcomeOf(await end({ companyId, reference }), reference);
    },
  } satisfies Pick<Processor, 'setUp' | 'resumeSetUp' | 'endSetUp'>;
  return { resume, end, ...setUps };
}
