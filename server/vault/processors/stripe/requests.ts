import { createHash } from 'node:crypto';
import type Stripe from 'stripe';
import { CardNumber } from '../../card-number.ts';
import type { ExchangeRequest } from '../exchange.ts';
import type { EvidenceFile, EvidenceFileKind, EvidenceRequest, EvidenceText } from '../notices.ts';
import type { ExternalAuthentication } from '../authentication.ts';
import type { Billing, ChargeRequest, CredentialUse, ProcessorCard } from '../processor.ts';

/**
 * Our requests as Stripe's. Every body satisfies the type of Stripe's own package, in the version whose API we ask for.
 */

export const apiVersion = '2026-10-28.endive';

/** The names under which our references are kept at Stripe. */
export const referenceName = 'svc_reference';
export const chargeReferenceName = 'svc_charge_reference';
export const kindName = 'svc_kind';
const cardName = 'svc_card';

export const idempotencyHeader = 'idempotency-key';

/** The fields of a form: nested ones become `a[b][c]`, elements of a list `a[0]`. */
function fields(name: string, value: unknown): [string, string][] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null) return [[name, `${value as string | number | boolean}`]];
  return Object.entries(value).flatMap(([key, part]) => fields(name === '' ? key : `${name}[${key}]`, part));
}

const formOf = (value: object): URLSearchParams => new URLSearchParams(fields('', value));

export function post(path: readonly string[], body: object, key?: string): ExchangeRequest {
  return {
    method: 'POST',
    path: ['v1', ...path],
    ...(key !== undefined && { headers: { [idempotencyHeader]: key } }),
    body: { type: 'application/x-www-form-urlencoded', content: formOf(body).toString() },
  };
}

export function get(path: readonly string[], query: object = {}, bytesMax?: number): ExchangeRequest {
  return { method: 'GET', path: ['v1', ...path], query: formOf(query), ...(bytesMax && { bytesMax }) };
}

/** Removes what is empty, because Stripe would read an empty text as "delete this field". */
function present<Value extends object>(value: Value): { [Name in keyof Value]?: NonNullable<Value[Name]> } {
  const entries = Object.entries(value).filter(([, part]) => part !== null && part !== undefined && part !== '');
  return Object.fromEntries(entries) as { [Name in keyof Value]?: NonNullable<Value[Name]> };
}

/** Stripe takes it only with a name and the first line of the address. */
function shippingDetails(shipping: ChargeRequest['shipping']): Pick<Stripe.PaymentIntentConfirmParams, 'shipping'> {
  const { name, phone, line1, line2, city, state, postalCode: postal_code, country } = shipping ?? {};
  if (!name || !line1) return {};
  return {
    shipping: { name, ...present({ phone }), address: present({ line1, line2, city, state, postal_code, country }) },
  };
}

function billingDetails(billing: Billing): Stripe.PaymentMethodCreateParams.BillingDetails {
  const { name, email, phone, line1, line2, city, state, postalCode: postal_code, country } = billing;
  const address = present({ line1, line2, city, state, postal_code, country });
  return { ...present({ name, email, phone }), ...(Object.keys(address).length > 0 && { address }) };
}

/**
 * The key contains what may change between two sendings of one charge, but nothing of the card number or the security
 * code. Otherwise a corrected address, or a code that is gone by now, would be rejected as other content under a used key.
 */
function cardKey(
  reference: string,
  { cardId, expMonth, expYear }: ProcessorCard,
  billing: Billing | undefined,
  hasCode: boolean,
): string {
  const address = billing && billingDetails(billing);
  const content = JSON.stringify([cardId, expMonth, expYear, address, ...(hasCode ? ['with CVC'] : [])]);
  return `${reference}:pm:${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;
}

export function createPaymentMethod(
  reference: string,
  card: ProcessorCard,
  billing: Billing | undefined,
  cvc?: string,
): ExchangeRequest {
  const body = {
    type: 'card',
    card: {
      number: CardNumber.open(card.number),
      exp_month: card.expMonth,
      exp_year: card.expYear,
      ...(cvc !== undefined && { cvc }),
    },
    ...(billing && { billing_details: billingDetails(billing) }),
  } satisfies Stripe.PaymentMethodCreateParams;
  return post(['payment_methods'], body, cardKey(reference, card, billing, cvc !== undefined));
}

/** The customer of a saved card, and the one that it replaces because it was deleted at Stripe. */
export interface CustomerOfCard {
  readonly id: string;
  readonly replaces?: string | undefined;
}

/** Without the card, so that it is the same however the card has changed since. */
export function createIntent(
  reference: string,
  amount: number,
  currency: string,
  customer?: CustomerOfCard,
  descriptor?: string,
  authorizesOnly = false,
): ExchangeRequest {
  const body = {
    amount,
    currency,
    ...(authorizesOnly && { capture_method: 'manual' as const }),
    ...(descriptor !== undefined && { statement_descriptor_suffix: descriptor }),
    ...(customer && { customer: customer.id }),
    allowed_payment_method_types: ['card'],
    metadata: { [referenceName]: reference },
  } satisfies Stripe.PaymentIntentCreateParams;
  // Stripe keeps its refusal of the customer that was deleted.
  const key = customer?.replaces === undefined ? `${reference}:pi` : `${reference}:pi:${customer.id}`;
  return post(['payment_intents'], body, key);
}

/** Each saved card is a customer of its own, because the vault does not know to whom a card belongs. */
export function createCustomer(name: string, replaces: string | undefined): ExchangeRequest {
  const body = { metadata: { [cardName]: name } } satisfies Stripe.CustomerCreateParams;
  return post(['customers'], body, replaces === undefined ? `card:${name}` : `card:${name}:${replaces}`);
}

export function searchCustomers(name: string): ExchangeRequest {
  const query = { query: `metadata['${cardName}']:'${name}'`, limit: 10 } satisfies Stripe.CustomerSearchParams;
  return get(['customers', 'search'], query);
}

export function listMethodsOf(customer: string): ExchangeRequest {
  const query = { type: 'card', limit: 1 } satisfies Stripe.CustomerListPaymentMethodsParams;
  return get(['customers', customer, 'payment_methods'], query);
}

export function attachMethod(method: string, customer: string): ExchangeRequest {
  const body = { customer } satisfies Stripe.PaymentMethodAttachParams;
  return post(['payment_methods', method, 'attach'], body, `${method}:attach`);
}

/** Its payment methods can never be used again. */
export const deleteCustomer = (customer: string): ExchangeRequest => ({
  method: 'DELETE',
  path: ['v1', 'customers', customer],
});

/** How Stripe knows the card of a charge: it is saved already, this charge saves it, or it is used this once. */
export type CardUse = 'saved' | 'saving' | 'once';

/** What a 3DS server of the merchant has found. */
function externalAuthentication({ cavv, eci, directoryServerId, version }: ExternalAuthentication) {
  return {
    three_d_secure: {
      cryptogram: cavv,
      transaction_id: directoryServerId,
      version,
      electronic_commerce_indicator: eci,
    },
  } satisfies Stripe.PaymentIntentConfirmParams.PaymentMethodOptions.Card;
}

interface Usage {
  readonly off_session?: NonNullable<Stripe.PaymentIntentConfirmParams['off_session']>;
  readonly setup_future_usage?: 'off_session';
  readonly payment_method_options?: { readonly card: Stripe.PaymentIntentConfirmParams.PaymentMethodOptions.Card };
}

/** Tells the card networks that the card is stored, or that the merchant charges a stored card. */
function credentialUse({ initiator, sequence, startsSeries }: CredentialUse, use: CardUse): Usage {
  if (initiator === 'merchant') {
    const isScheduled = sequence !== 'unscheduled';
    // Only a charge of a saved card can say what it is.
    if (use === 'once') {
      const off_session = isScheduled ? 'recurring' : 'one_off';
      return { off_session };
    }
    const stored_credential_usage = isScheduled ? 'recurring' : 'unscheduled';
    const off_session = true;
    return { off_session, payment_method_options: { card: { stored_credential_usage } } };
  }
  if (use === 'saved' || (use === 'once' && sequence !== 'first')) return {};
  const setup_credential_usage = startsSeries ? 'recurring' : 'unscheduled';
  return { setup_future_usage: 'off_session', payment_method_options: { card: { setup_credential_usage } } };
}

export const expandedCharge = ['latest_charge.balance_transaction'];

export function confirmIntent(
  intent: string,
  paymentMethod: string,
  request: Pick<ChargeRequest, 'reference' | 'credential' | 'shipping' | 'presence' | 'authentication'>,
  use: CardUse = 'once',
  attempt: 'first' | 'again' = 'first',
): ExchangeRequest {
  const { reference, credential, shipping, presence, authentication } = request;
  const { payment_method_options, ...usage } = (credential && credentialUse(credential, use)) ?? {};
  const card = { ...payment_method_options?.card, ...(authentication && externalAuthentication(authentication)) };
  const body = {
    payment_method: paymentMethod,
    ...(presence ? { return_url: presence.returnUrl } : { error_on_requires_action: true }),
    expand: expandedCharge,
    ...shippingDetails(shipping),
    ...usage,
    ...(Object.keys(card).length > 0 && { payment_method_options: { card } }),
  } satisfies Stripe.PaymentIntentConfirmParams;
  const key = attempt === 'first' ? reference : `${reference}:again`;
  return post(['payment_intents', intent, 'confirm'], body, key);
}

export function getIntent(intent: string): ExchangeRequest {
  const query = { expand: expandedCharge } satisfies Stripe.PaymentIntentRetrieveParams;
  return get(['payment_intents', intent], query);
}

/** Without a key: Stripe would repeat a saved error, and a second cancellation changes nothing. */
export function cancelIntent(
  intent: string,
  cancellation_reason: 'abandoned' | 'requested_by_customer' = 'abandoned',
): ExchangeRequest {
  const body = { cancellation_reason } satisfies Stripe.PaymentIntentCancelParams;
  return post(['payment_intents', intent, 'cancel'], body);
}

const listBytesMax = 8 * 1024 * 1024;

export function searchIntents(reference: string): ExchangeRequest {
  const query = {
    query: `metadata['${referenceName}']:'${reference.replace(/[\\']/g, '\\$&')}'`,
    limit: 10,
  } satisfies Stripe.PaymentIntentSearchParams;
  return get(['payment_intents', 'search'], query, listBytesMax);
}

export interface NewRefund {
  readonly kind: 'refund' | 'void';
  readonly reference: string;
  readonly chargeReference: string;
  readonly intent: string;
  readonly amount: number;
}

export function createRefund({ kind, reference, chargeReference, intent, amount }: NewRefund): ExchangeRequest {
  const body = {
    payment_intent: intent,
    amount,
    metadata: { [referenceName]: reference, [chargeReferenceName]: chargeReference, [kindName]: kind },
    expand: ['balance_transaction'],
  } satisfies Stripe.RefundCreateParams;
  return post(['refunds'], body, reference);
}

const pageSize = 100;

export function listRefundsOf(intent: string, after?: string): ExchangeRequest {
  const query = {
    payment_intent: intent,
    limit: pageSize,
    expand: ['data.balance_transaction'],
    ...(after && { starting_after: after }),
  } satisfies Stripe.RefundListParams;
  return get(['refunds'], query, listBytesMax);
}

/** Whole seconds; the end is exclusive. */
export interface Period {
  readonly from: number;
  readonly until: number;
}

export function listCharges({ from, until }: Period, after?: string): ExchangeRequest {
  const query = {
    created: { gte: from, lt: until },
    limit: pageSize,
    expand: ['data.refunds', 'data.payment_intent'],
    ...(after && { starting_after: after }),
  } satisfies Stripe.ChargeListParams;
  return get(['charges'], query, listBytesMax);
}

export function listRefunds({ from, until }: Period, after?: string): ExchangeRequest {
  const query = {
    created: { gte: from, lt: until },
    limit: pageSize,
    ...(after && { starting_after: after }),
  } satisfies Stripe.RefundListParams;
  return get(['refunds'], query, listBytesMax);
}

export function listBalanceTransactions({ from, until }: Period, after?: string): ExchangeRequest {
  const query = {
    type: 'charge',
    created: { gte: from, lt: until },
    limit: pageSize,
    expand: ['data.source'],
    ...(after && { starting_after: after }),
  } satisfies Stripe.BalanceTransactionListParams;
  return get(['balance_transactions'], query, listBytesMax);
}

export const getAccount = get(['account']);
export const getBalance = get(['balance']);

const noSuchId = 'svc_permission_check';

/**
 * Requests that change nothing, because they are incomplete or name an object that does not exist. Stripe checks the permissions
 * of a key first.
 */
export const permissionChecks: readonly ExchangeRequest[] = [
  post(['payment_intents'], {}),
  post(['payment_methods'], {}),
  post(['setup_intents', noSuchId, 'cancel'], {}),
  post(['customers', noSuchId], {}),
  post(['refunds'], {}),
  get(['charges'], { limit: 1 } satisfies Stripe.ChargeListParams),
  post(['disputes', noSuchId], {}),
  get(['balance_transactions'], { limit: 1 } satisfies Stripe.BalanceTransactionListParams),
  getBalance,
];
export const filesCheck: ExchangeRequest = post(['files'], {});

/** The fields of Stripe that take a text. Stripe has no field for the text of a communication, only for a file. */
const evidenceTextFields = {
  product_description: 'product_description',
  service_date: 'service_date',
  shipping_date: 'shipping_date',
  shipping_carrier: 'shipping_carrier',
  shipping_tracking_number: 'shipping_tracking_number',
  refund_policy: 'refund_policy_disclosure',
  cancellation_policy: 'cancellation_policy_disclosure',
} as const satisfies Partial<Record<EvidenceText, keyof Stripe.DisputeUpdateParams.Evidence>>;

const evidenceFileFields = {
  receipt: 'receipt',
  customer_communication: 'customer_communication',
  customer_signature: 'customer_signature',
  shipping_documentation: 'shipping_documentation',
  service_documentation: 'service_documentation',
  refund_policy: 'refund_policy',
  cancellation_policy: 'cancellation_policy',
  other: 'uncategorized_file',
} as const satisfies Record<EvidenceFileKind, keyof Stripe.DisputeUpdateParams.Evidence>;

export interface UploadedFile {
  readonly kind: EvidenceFileKind;
  readonly id: string;
}

export function submitEvidence(
  { disputeId, texts }: Pick<EvidenceRequest, 'disputeId' | 'texts'>,
  files: readonly UploadedFile[],
  key: string,
): ExchangeRequest {
  const named = Object.entries(evidenceTextFields).map(([text, field]) => [field, texts[text as EvidenceText]]);
  const communication = texts.customer_communication && `Communication:\n${texts.customer_communication}`;
  const others = [texts.explanation, communication].filter((text) => text !== undefined && text !== '');
  const evidence: Stripe.DisputeUpdateParams.Evidence = present({
    ...Object.fromEntries(named),
    uncategorized_text: others.join('\n\n'),
    ...Object.fromEntries(files.map(({ kind, id }) => [evidenceFileFields[kind], id])),
  });
  const body = { evidence, submit: true } satisfies Stripe.DisputeUpdateParams;
  return post(['disputes', disputeId], body, key);
}

export const closeDispute = (disputeId: string, reference: string): ExchangeRequest =>
  post(['disputes', disputeId, 'close'], {} satisfies Stripe.DisputeCloseParams, reference);

export const getDispute = (disputeId: string): ExchangeRequest => get(['disputes', disputeId]);

/** A multipart form, because a file does not fit into an ordinary one. Its boundary cannot occur in the content. */
export function uploadFile({ name, contentType, content }: EvidenceFile, key: string): ExchangeRequest {
  const purpose = 'dispute_evidence' satisfies Stripe.FileCreateParams.Purpose;
  const boundary = createHash('sha256').update(content).update(key).digest('hex');
  const fileName = name.replace(/[^\w .-]/g, '_').slice(0, 100);
  const part = (disposition: string): string => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`;
  const head = `${part('name="purpose"')}\r\n${purpose}\r\n${part(`name="file"; filename="${fileName}"`)}`;
  const start = `${head}content-type: ${contentType}\r\n\r\n`;
  return {
    method: 'POST',
    path: ['v1', 'files'],
    headers: { [idempotencyHeader]: key },
    body: {
      type: `multipart/form-data; boundary=${boundary}`,
      content: Buffer.concat([Buffer.from(start), content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    },
  };
}
