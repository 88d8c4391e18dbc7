import { jsonOf } from '../exchange.ts';
import type { LookupOutcome, LookupRequest, Money, Outcome, RefundRequest, VoidRequest } from '../processor.ts';
import { amountAtStripe } from './amounts.ts';
import * as answers from './answers.ts';
import { declined } from './declines.ts';
import * as refundAnswers from './refund-answers.ts';
import { expired, intentOf, isExpired } from './charges.ts';
import type { Client } from './client.ts';
import { readIntent, readList, readNamed } from './objects.ts';
import * as requests from './requests.ts';

/** Refunds and voids payments, and finds refunds. */

const spent = 'Stripe refused the first request for this refund.';

const chargeNotFound = (): Outcome => answers.notSent('Stripe does not find the charge');

interface Sending {
  readonly kind: 'refund' | 'void';
  readonly request: RefundRequest | VoidRequest;
  readonly intent: string;
  readonly amount: number;
  readonly money?: Money;
}

async function sendRefund(client: Client, { kind, request, intent, amount, money }: Sending): Promise<Outcome> {
  const { reference, chargeReference, validUntilMs } = request;
  if (isExpired(client, validUntilMs)) return expired(client);
  const sent = { kind, reference, chargeReference, intent, amount };
  const answer = await client.send(requests.createRefund(sent), validUntilMs);
  const outcome = refundAnswers.refundOutcome(answer, { kind, reference, intent, money });
  if (outcome) return outcome;
  const found = await findRefund(client, { kind, reference, intent, money });
  if (found.outcome !== 'not_found') return found;
  // The earlier request has created nothing, and every repetition would get its answer.
  if (refundAnswers.isSpent(answer, reference)) return declined('unknown', { response_text: spent });
  return answers.unknown('the refund may still be executed');
}

export async function refund(client: Client, request: RefundRequest): Promise<Outcome> {
  if (isExpired(client, request.validUntilMs)) return expired(client);
  const amount = amountAtStripe(request.amount, request.currency);
  if (amount === undefined) {
    const response_text = `Stripe cannot refund this amount in ${request.currency}.`;
    return declined('validation_error', { response_text });
  }
  const intent = await intentOf(client, request);
  if (!intent) return chargeNotFound();
  return sendRefund(client, { kind: 'refund', request, intent, amount, money: request });
}

/** Stripe has captured the charge, so a void is a refund of the whole amount, which fails if a part was refunded. */
export async function voidCharge(client: Client, request: VoidRequest): Promise<Outcome> {
  if (isExpired(client, request.validUntilMs)) return expired(client);
  const intent = await intentOf(client, request);
  if (!intent) return chargeNotFound();
  const { charged } = request;
  const known = charged && amountAtStripe(charged.amount, charged.currency);
  const amount = known ?? (await amountOf(client, intent));
  return amount ? sendRefund(client, { kind: 'void', request, intent, amount }) : chargeNotFound();
}

async function amountOf({ send }: Client, intent: string): Promise<number | undefined> {
  const answer = await send(requests.getIntent(intent));
  const found = 'reason' in answer || answer.status !== 200 ? undefined : readIntent(jsonOf(answer));
  return found?.id === intent ? found.amount : undefined;
}

async function findRefund({ send, goneAfterMs }: Client, about: refundAnswers.SentRefund): Promise<LookupOutcome> {
  let atMs: number | undefined;
  for (let after: string | undefined; ; ) {
    const answer = await send(requests.listRefundsOf(about.intent, after));
    if ('reason' in answer) return answers.unknown(answer.reason);
    const list = answer.status === 200 ? readList(jsonOf(answer)) : undefined;
    if (!list) return answers.unknown(`Stripe answered ${answer.status} for the refunds of the charge`);
    atMs ??= answer.askedAtMs;
    const found = refundAnswers.findRefund(list.data, about);
    if (found) return refundAnswers.foundRefund(found, about, answer.askedAtMs);
    after = readNamed(list.data.at(-1))?.id;
    if (!list.has_more) break;
    if (after === undefined) return answers.unknown('the list of refunds cannot be read');
  }
  // The list is current, but a request that was sent before may still be on its way.
  return { outcome: 'not_found', ...(atMs !== undefined && { atMs: atMs - goneAfterMs }) };
}

export async function lookupRefund(client: Client, request: LookupRequest): Promise<LookupOutcome> {
  const { reference, kind, sent } = request;
  const intent = await intentOf(client, request);
  if (intent === undefined) return answers.unknown('the charge of the refund could not be looked up');
  if (intent === null) return { outcome: 'not_found' };
  return findRefund(client, {
    kind: kind === 'void' || kind === 'refund' ? kind : undefined,
    reference,
    intent,
    money: sent,
  });
}
