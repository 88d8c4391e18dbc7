import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { ChargeRequest, CardAtProcessor } from '../processor.ts';
import * as answers from './answers.ts';
import { declined } from './declines.ts';
import type { Client, UsedCard } from './client.ts';
import { readError, readList, readNamed } from './objects.ts';
import * as requests from './requests.ts';

/** Cards that are saved at Stripe: a customer for each card, and the payment method with which the customer pays. */

/** The customer of a saved card was deleted at Stripe. */
export function isWithoutCustomer(answer: Answer | Silence): boolean {
  const error = 'reason' in answer ? undefined : answers.rejectionIn(answer);
  return error?.code === 'resource_missing' && error.param === 'customer';
}

/** A payment that was prepared for a customer who has been deleted since. The next charge makes a new one. */
export const withoutCustomer = declined(
  'invalid_merchant_configuration',
  { response_text: 'The customer of the saved card was deleted at Stripe.' },
  true,
);

/** The payment method of a saved card was removed at Stripe. Nothing was executed. */
export function isWithoutMethod(answer: Answer | Silence): boolean {
  const error = 'reason' in answer ? undefined : answers.rejectionIn(answer);
  if (error?.type !== 'invalid_request_error' || answers.isAboutKey(error) || error.param === 'customer') return false;
  return error.code === 'resource_missing' || /payment ?method/i.test(error.message ?? '');
}

interface Saved {
  readonly customer: string;
  /** Null until a charge has saved the card. */
  readonly method: string | null;
}

const separator = ' ';
export const tokenOf = ({ customer, method }: Saved): string => [customer, method ?? ''].join(separator);

function savedIn(token: string | undefined): Saved | undefined {
  if (token === undefined) return undefined;
  const [customer = '', method = ''] = token.split(separator);
  return { customer, method: method || null };
}

const namesIn = (answer: Answer | Silence): readonly string[] => {
  const list = 'reason' in answer || answer.status !== 200 ? undefined : readList(jsonOf(answer));
  return list?.data.map(readNamed).flatMap((found) => found?.id ?? []) ?? [];
};

/**
 * The customer of a card. Its key is derived from the card, so a process that dies before it has stored the customer makes
 * no second one. When Stripe may have forgotten the key, the search finds the customer; by then it is current.
 */
async function newCustomer(
  { send }: Client,
  { name, isOld, keep }: CardAtProcessor,
  replaces?: string,
): Promise<Saved | undefined> {
  const [found] = isOld && replaces === undefined ? namesIn(await send(requests.searchCustomers(name))) : [];
  const made =
    found === undefined
      ? answers.created(await send(requests.createCustomer(name, replaces)), 'customer')
      : { id: found };
  // Whether a card is saved must not decide whether a sale is made.
  if ('outcome' in made) return undefined;
  const saved = { customer: made.id, method: null };
  const isKept = await keep(tokenOf(saved)).catch(() => undefined);
  if (isKept === false) await send(requests.deleteCustomer(made.id));
  return isKept === true ? saved : undefined;
}

/** What is saved of the card of a charge. A process may have died after a charge saved the card. */
export async function savedFor(client: Client, savedCard: CardAtProcessor | undefined): Promise<Saved | undefined> {
  if (!savedCard) return undefined;
  const known = savedIn(savedCard.token);
  if (!known) return newCustomer(client, savedCard);
  const [method] = namesIn(await client.send(requests.listMethodsOf(known.customer)));
  if (method === undefined) return known;
  const saved = { customer: known.customer, method };
  await savedCard.keep(tokenOf(saved)).catch(() => false);
  return saved;
}

type Created = ReturnType<typeof answers.created>;
type Refused = Extract<Created, { outcome: string }>;

export async function newMethod(
  { send }: Client,
  { reference, card, billing, cvc }: Pick<ChargeRequest, 'reference' | 'card' | 'billing' | 'cvc'>,
): Promise<Created> {
  const request = requests.createPaymentMethod(reference, card, billing, cvc?.reveal());
  return answers.created(await send(request), 'payment_method');
}

/** A payment method that is used this once. */
async function cardOnce(client: Client, request: ChargeRequest): Promise<UsedCard | Refused> {
  const method = await newMethod(client, request);
  return 'outcome' in method ? method : { method: method.id, use: 'once' };
}

/** The payment method of a charge: the saved one, or a new one that the charge saves. */
export async function cardFor(client: Client, request: ChargeRequest): Promise<UsedCard | Refused> {
  const known = savedIn(request.savedCard?.token);
  if (known?.method) return { method: known.method, use: 'saved', customer: known.customer };
  // Together, so that saving a card takes no time.
  const [method, saved] = await Promise.all([newMethod(client, request), savedFor(client, request.savedCard)]);
  if (saved?.method) return { method: saved.method, use: 'saved', customer: saved.customer };
  if ('outcome' in method) return method;
  return saved ? { method: method.id, use: 'saving', customer: saved.customer } : { method: method.id, use: 'once' };
}

/** The card of an intent that another process, or an earlier call, has created for this customer or for none. */
export async function cardOfIntent(
  client: Client,
  request: ChargeRequest,
  customer: string | null,
): Promise<UsedCard | Refused> {
  if (customer === null) return cardOnce(client, request);
  const card = await cardFor(client, request);
  if ('outcome' in card || card.customer === customer) return card;
  const fresh = await newMethod(client, request);
  return 'outcome' in fresh ? fresh : { method: fresh.id, use: 'saving', customer };
}

/** A new customer for a card whose customer was deleted at Stripe. */
export async function cardWithNewCustomer(
  client: Client,
  request: ChargeRequest,
  deleted: string,
): Promise<UsedCard | Refused> {
  const method = await newMethod(client, request);
  if ('outcome' in method) return method;
  const saved = request.savedCard && (await newCustomer(client, request.savedCard, deleted));
  return saved ? { method: method.id, use: 'saving', customer: saved.customer } : { method: method.id, use: 'once' };
}

/** A new payment method for a card whose saved one cannot be used any more. */
export async function cardSavedAgain(
  client: Client,
  request: ChargeRequest,
  customer: string,
): Promise<UsedCard | Refused> {
  await request.savedCard?.keep(tokenOf({ customer, method: null })).catch(() => false);
  const method = await newMethod(client, request);
  return 'outcome' in method ? method : { method: method.id, use: 'saving', customer };
}

/**
 * A charge without the customer cannot save the card by itself, so the card is attached before. If Stripe does not attach
 * it, the charge decides.
 */
export async function attachBefore(
  { send }: Client,
  { credential }: ChargeRequest,
  { method, use, customer }: UsedCard,
): Promise<void> {
  if (use !== 'saving' || customer === undefined || credential?.initiator !== 'merchant') return;
  await send(requests.attachMethod(method, customer));
}

/** After an approved charge. If this fails, the next charge finds the payment method at Stripe. */
export async function keepSaved({ savedCard }: ChargeRequest, { method, use, customer }: UsedCard): Promise<void> {
  if (use !== 'saving' || customer === undefined) return;
  await savedCard?.keep(tokenOf({ customer, method })).catch(() => false);
}

/** Deletes the customer, and so the payment method. */
export async function removeSaved({ send }: Client, token: string): Promise<boolean> {
  const { customer } = savedIn(token) ?? {};
  if (!customer) return true;
  const answer = await send(requests.deleteCustomer(customer));
  if ('reason' in answer) return false;
  if (answer.status === 200) return readNamed(jsonOf(answer))?.id === customer;
  return answer.status === 404 && readError(jsonOf(answer))?.code === 'resource_missing';
}
