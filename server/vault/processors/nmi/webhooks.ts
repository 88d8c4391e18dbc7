import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../../platform/secret.ts';
import { reasonOfCode } from '../network-reasons.ts';
import type { Notice, NoticeDelivery, NoticedChargeback, NoticeSubject, Reception } from '../notices.ts';
import { shownText } from './codes.ts';

/** Reads the webhooks of NMI: settled and failed batches, and batches of chargebacks. */

export interface WebhookSettings {
  /** Without it, every webhook is refused; NMI sends them again for three days. */
  readonly signingKey?: Secret<string> | undefined;
  /** The processor of this connection, if the account has several: what is about the others is only kept. */
  readonly processorId?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const other: NoticeSubject = { kind: 'other' };

/** `t=NONCE,s=HEX`. The nonce is signed, but it is not a time: a repeated webhook is known by its content. */
function signatureProblem({ headers, body }: NoticeDelivery, signingKey: Secret<string>): string | undefined {
  const [, nonce, given] =
    /^t=([^,]{1,200}),\s*s=([0-9a-f]{64})$/i.exec(headers['webhook-signature']?.trim() ?? '') ?? [];
  if (nonce === undefined || given === undefined) return 'the Webhook-Signature header is missing or has another form';
  const expected = createHmac('sha256', signingKey.reveal()).update(`${nonce}.`).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(given, 'hex')) ? undefined : 'the signature does not match';
}

/** Ids are texts or numbers. */
function idIn(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && /^[\w.-]{1,64}$/.test(text.trim()) ? text.trim() : undefined;
}

const textIn = (fields: Fields, name: string): string => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
};

/** The same for each delivery of the same content. */
const digest = (value: unknown): string => hash('sha256', JSON.stringify(value) ?? '', 'hex').slice(0, 40);

/** `3/29/2020`, as NMI writes dates for people in the United States, or `2020-03-29`. */
function dateIn(text: string): string | null {
  const [, month = '', day = '', year = ''] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})\b/.exec(text) ?? [];
  const date =
    year === ''
      ? (/^\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? '')
      : [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-');
  const ms = Date.parse(`${date}T00:00:00Z`);
  // `2020-02-30` would be read as the first of March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date) ? date : null;
}

/** `411111******1111`. Some processors show only the last four digits. */
function cardIn(masked: string): Pick<NoticedChargeback, 'first6' | 'last4'> {
  const [, first6 = null, last4 = null] = /^(\d{6})?\d{0,2}[xX* .-]*(\d{4})$/.exec(masked) ?? [];
  return { first6, last4 };
}

/** `101: Introductory chargeback`, and a field of its own in newer accounts. */
function codeIn(entry: Fields): string | null {
  const code =
    textIn(entry, 'reason_code') || (/^([A-Z]{0,3}\d[\w.]{0,9})\s*[:-]/.exec(textIn(entry, 'reason'))?.[1] ?? '');
  return /^[\w.-]{1,20}$/.test(code) ? code : null;
}

function chargebackOf(entry: Fields): NoticedChargeback {
  const amount = textIn(entry, 'amount').replace(/^\$/, '');
  const code = codeIn(entry);
  return {
    id: idIn(entry.id) ?? `unnamed-${digest(entry)}`,
    date: dateIn(textIn(entry, 'date')),
    ...cardIn(textIn(entry, 'cc_number')),
    amount: /^\d{1,12}(\.\d{1,4})?$/.test(amount) ? amount : null,
    reason: reasonOfCode(code),
    networkReasonCode: code,
    text: shownText(textIn(entry, 'reason')),
  };
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly body: Fields;
  readonly nowMs: number;
}

const listIn = (body: Fields, name: string): readonly unknown[] => (Array.isArray(body[name]) ? body[name] : []);

/** As many as one statement marks as settled. */
const batchPart = 1_000;

function settledBatch({ id, type, body, nowMs }: Event): Notice[] {
  const transactionIds = listIn(body, 'transaction_ids').flatMap((entry) => idIn(entry) ?? []);
  const parts = Math.ceil(transactionIds.length / batchPart);
  return Array.from({ length: parts }, (_, part) => ({
    id: `${id}:${part}`,
    type,
    atMs: nowMs,
    about: {
      kind: 'settled_batch',
      transactionIds: transactionIds.slice(part * batchPart, (part + 1) * batchPart),
    },
  }));
}

const failedBatch = ({ id, type, nowMs }: Event): Notice[] => [
  { id, type, atMs: nowMs, about: { kind: 'failed_batch' } },
];

/** Known by its own id and date: a later batch may contain it again. What is not readable of one does not affect the others. */
function chargebackBatch({ id, type, body, nowMs }: Event): Notice[] {
  return listIn(body, 'chargebacks').map((entry, index): Notice => {
    if (!isFields(entry)) return { id: `${id}:${index}`, type, atMs: nowMs, about: other };
    const chargeback = chargebackOf(entry);
    const { id: chargebackId, date } = chargeback;
    const atMs = date === null ? nowMs : Math.min(nowMs, Date.parse(date));
    return { id: `chargeback:${chargebackId}:${date ?? ''}`, type, atMs, about: { kind: 'chargeback', chargeback } };
  });
}

/** Of a charge, refund or void. A failure may be that of a repetition, so only the reports decide. */
function changedTransaction({ id, type, body, nowMs }: Event): Notice[] {
  const reference = idIn(body.order_id);
  return reference === undefined ? [] : [{ id, type, atMs: nowMs, about: { kind: 'changed', reference } }];
}

const transactionEvents = ['sale', 'refund', 'void'].flatMap((action) =>
  ['success', 'failure', 'unknown'].map((result) => [`transaction.${action}.${result}`, changedTransaction] as const),
);

/** The events with an effect; docs/processors/nmi.md lists them. All others are kept. */
const readers: ReadonlyMap<string, (event: Event) => Notice[]> = new Map([
  ...transactionEvents,
  ['settlement.batch.complete', settledBatch],
  ['settlement.batch.failure', failedBatch],
  ['chargeback.batch.complete', chargebackBatch],
]);

function isOfAnother({ processor }: Fields, processorId: string | undefined): boolean {
  const named = isFields(processor) ? idIn(processor.id) : undefined;
  return processorId !== undefined && named !== undefined && named !== processorId;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function noticesOf(content: unknown, { body, nowMs }: NoticeDelivery, processorId: string | undefined): Notice[] {
  const fields = isFields(content) ? content : {};
  const type = /^[a-z_.]{1,60}$/.exec(textIn(fields, 'event_type'))?.[0] ?? 'unknown';
  const id = idIn(fields.event_id) ?? `unnamed-${hash('sha256', body, 'hex').slice(0, 40)}`;
  const eventBody = isFields(fields.event_body) ? fields.event_body : {};
  const read = isOfAnother(eventBody, processorId) ? undefined : readers.get(type);
  const notices = read?.({ id, type, body: eventBody, nowMs }) ?? [];
  return notices.length > 0 ? notices : [{ id, type, atMs: nowMs, about: other }];
}

/** NMI repeats what is not accepted 20 times, so everything with a valid signature is accepted. */
export function receiveWebhook(delivery: NoticeDelivery, { signingKey, processorId }: WebhookSettings): Reception {
  if (!signingKey) return { outcome: 'refused', reason: 'the signing key of the webhooks is not entered' };
  const problem = signatureProblem(delivery, signingKey);
  if (problem) return { outcome: 'refused', reason: problem };
  return { outcome: 'accepted', notices: noticesOf(parsed(delivery.body), delivery, processorId) };
}
