import { type Answer, jsonOf, type Silence, silentOutcome } from '../exchange.ts';
import type { CaptureRequest, LookupOutcome, LookupRequest, Money, Outcome, VoidRequest } from '../processor.ts';
import { amountAtStripe } from './amounts.ts';
import * as answers from './answers.ts';
import { captureIntent, captureName } from './capture-requests.ts';
import { expired, intentOf, isExpired } from './charges.ts';
import type { Client } from './client.ts';
import { declined, declinedBy } from './declines.ts';
import { type Intent, objectOf, readIntent } from './objects.ts';
import * as requests from './requests.ts';

/** Captures and releases authorizations: payments with `capture_method: manual`, which Stripe calls `requires_capture`. */

/** An authorization that has ended is a cancelled payment. */
const isOver = true;
const over = (): Outcome => ({
  ...declined('transaction_not_allowed', { response_text: 'The authorization has ended or was cancelled.' }),
  isOver,
});
const otherCapture = (): Outcome =>
  declined('duplicate_transaction', { response_text: 'The authorization was captured.' });

const notFoundThere = (): Outcome => answers.notSent('Stripe does not find the authorization');

/** Errors of a capture that say that the authorization has ended, beside the state of the payment. */
const endedCodes = ['charge_expired_for_capture', 'capture_charge_authorization_expired'];

/** What the payment says about a capture; undefined while it is not captured. */
function standingOf(intent: Intent, reference: string, money: Money | undefined, askedAtMs: number | undefined) {
  if (intent.status === 'requires_capture') return undefined;
  if (intent.status === 'canceled') return over();
  if (intent.status !== 'succeeded') return answers.unknown(`the payment is ${intent.status}`);
  if (intent.metadata?.[captureName] !== reference) return otherCapture();
  const taken = money && amountAtStripe(money.amount, money.currency);
  const isSame = taken === undefined || intent.amount_received === taken;
  if (!isSame) return { outcome: 'conflict', approved: true } as const;
  return answers.capturedIntent(intent, objectOf(intent.latest_charge), askedAtMs);
}

async function readStanding(
  { send }: Client,
  intent: string,
): Promise<
  { readonly intent: Intent; readonly askedAtMs: number | undefined } | ReturnType<typeof answers.unanswered>
> {
  const answer = await send(requests.getIntent(intent));
  const found = 'reason' in answer || answer.status !== 200 ? undefined : readIntent(jsonOf(answer));
  if ('reason' in answer || found?.id !== intent) return answers.unanswered(answer);
  return { intent: found, askedAtMs: answer.askedAtMs };
}

export async function capture(client: Client, request: CaptureRequest): Promise<Outcome> {
  const { reference, validUntilMs } = request;
  if (isExpired(client, validUntilMs)) return expired(client);
  const amount = amountAtStripe(request.amount, request.currency);
  if (amount === undefined) {
    return declined('validation_error', { response_text: 'Stripe cannot capture this amount.' });
  }
  const intent = await intentOf(client, request);
  if (!intent) return notFoundThere();
  if (isExpired(client, validUntilMs)) return expired(client);
  const answer = await client.send(captureIntent(intent, reference, amount), validUntilMs);
  return captureOutcome(answer, request, intent) ?? (await afterwards(client, request, intent));
}

/** Returns undefined if the answer proves nothing, but the state of the payment will. */
function captureOutcome(answer: Answer | Silence, request: CaptureRequest, intent: string): Outcome | undefined {
  if ('reason' in answer) return silentOutcome(answer);
  const refused = answers.refusedKey(answer);
  if (refused) return answer.status === 401 ? refused : undefined;
  const shown = answer.status === 200 ? readIntent(jsonOf(answer)) : undefined;
  if (shown?.id === intent) return standingOf(shown, request.reference, request, answer.askedAtMs);
  const error = answers.rejectionIn(answer);
  if (!error) return answers.unknown(answers.unclear(answer));
  if (endedCodes.includes(error.code ?? '')) return over();
  if (answers.isAboutKey(error) || !answers.isAnswerTo(answer, request.reference)) return undefined;
  return declinedBy(error);
}

async function afterwards(client: Client, { reference, ...money }: CaptureRequest, intent: string): Promise<Outcome> {
  const found = await readStanding(client, intent);
  if ('outcome' in found) return found;
  const standing = standingOf(found.intent, reference, money, found.askedAtMs);
  return standing ?? answers.unknown('the capture may still be executed');
}

/** The authorization is cancelled: Stripe releases its funds. A second cancellation changes nothing. */
export async function releaseAuthorization(client: Client, request: VoidRequest): Promise<Outcome> {
  if (isExpired(client, request.validUntilMs)) return expired(client);
  const intent = await intentOf(client, request);
  if (!intent) return notFoundThere();
  const answer = await client.send(requests.cancelIntent(intent, 'requested_by_customer'), request.validUntilMs);
  if ('reason' in answer) return silentOutcome(answer);
  const refused = answers.refusedKey(answer);
  if (refused) return refused;
  const shown = readIntent(answer.status === 200 ? jsonOf(answer) : answers.rejectionIn(answer)?.payment_intent);
  return shown?.id === intent ? released(shown, answer.askedAtMs) : answers.unknown(answers.unclear(answer));
}

function released(intent: Intent, askedAtMs: number | undefined): Outcome {
  if (intent.status === 'canceled') return answers.capturedIntent(intent, undefined, askedAtMs);
  if (intent.status === 'succeeded') return otherCapture();
  return answers.unknown(`the payment is ${intent.status}`);
}

/** Of a capture, or of the release of an authorization. */
export async function lookupHeld(client: Client, request: LookupRequest): Promise<LookupOutcome> {
  const intent = await intentOf(client, request);
  if (intent === undefined) return answers.unknown('the authorization could not be looked up');
  if (intent === null) return { outcome: 'not_found' };
  const found = await readStanding(client, intent);
  if ('outcome' in found) return found;
  const { askedAtMs } = found;
  const isRelease = request.kind === 'void';
  const standing = isRelease
    ? found.intent.status === 'requires_capture'
      ? undefined
      : released(found.intent, askedAtMs)
    : standingOf(found.intent, request.reference, request.sent, askedAtMs);
  if (standing) return standing as LookupOutcome;
  // A request that was sent before may still be on its way.
  return { outcome: 'not_found', ...(askedAtMs !== undefined && { atMs: askedAtMs - client.goneAfterMs }) };
}
