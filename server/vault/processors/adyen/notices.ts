import { ownEntry } from '../../../platform/own-entry.ts';
import { timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Notice, NoticeDelivery, NoticedCharge, NoticeSubject, Reception } from '../notices.ts';
import { type LookupOutcome, noResponse } from '../processor.ts';
import { additionalCheck, authorizationIn, declined } from './answers.ts';
import { authenticationIn } from './authentication.ts';
import { type Decline, refusals } from './codes.ts';
import { disputeOf, disputeStatusOf, progressMs } from './dispute-notices.ts';
import { handleOf } from './handle.ts';
import {
  itemSchema,
  keptIdOf,
  type NoticeItem,
  signatureOf,
  type SignedItem,
  signedItemSchema,
  unverifiedIdOf,
} from './notice-item.ts';
import { referenceOfModification } from './requests.ts';
import { setUpBy } from './setups.ts';

/** Reads the standard webhook of Adyen. */

const noticeBody = checkOf(
  Type.Object({
    notificationItems: Type.Array(Type.Object({ NotificationRequestItem: Type.Optional(Type.Unknown()) }), {
      minItems: 1,
      maxItems: 100,
    }),
  }),
);
const signedItem = checkOf(signedItemSchema);
const readableItem = checkOf(itemSchema);

export interface NoticeSettings {
  readonly merchantAccount: string;
  /** 64 hexadecimal digits. Without it, every notice is refused; Adyen sends them again later. */
  readonly hmacKey?: Secret<string>;
  /** If Adyen signs in with a name and a password as well. */
  readonly basic?: { readonly username: string; readonly password: Secret<string> };
}

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

function isSigned(item: unknown, hmacKey: Secret<string>): item is SignedItem {
  if (!signedItem.Check(item)) return false;
  const { hmacSignature: signature } = (item.additionalData ?? {}) as { readonly hmacSignature?: unknown };
  return typeof signature === 'string' && isEqual(signature, signatureOf(item, hmacKey.reveal()));
}

function isSignedIn(headers: NoticeDelivery['headers'], basic: NoticeSettings['basic']): boolean {
  if (!basic) return true;
  const expected = Buffer.from(`${basic.username}:${basic.password.reveal()}`).toString('base64');
  return isEqual(headers.authorization ?? '', `Basic ${expected}`);
}

const chargeOf = ({ merchantReference, originalReference }: NoticeItem): NoticedCharge => ({
  reference: merchantReference || null,
  transactionId: originalReference || null,
});

const other: NoticeSubject = { kind: 'other' };

function operation(reference: string | null | undefined, found: LookupOutcome): NoticeSubject {
  return reference ? { kind: 'operation', reference, found } : other;
}

const approved = (transaction_id: string | null | undefined, settled: boolean): LookupOutcome => ({
  outcome: 'approved',
  response: { ...noResponse, transaction_id: transaction_id || null },
  settled,
});

/** The authorization was cancelled or has expired, so it can never be captured. */
const neverHappened: LookupOutcome = { outcome: 'not_found', isFinal: true };

const refusedLater: Decline = { name: 'Rejected by the card network', failureCode: 'processor_declined' };

/** A notice names the reason of a refusal in words. It is not signed and changes only the failure code. */
function refusal(
  { reason, pspReference }: NoticeItem,
  more: Additional,
): Extract<LookupOutcome, { outcome: 'declined' }> {
  const named = Object.entries(refusals).find(([, { name }]) => name.toLowerCase() === reason?.trim().toLowerCase());
  const [response_code, decline] = named ?? [null, { name: 'Refused', failureCode: 'unknown' } as const];
  const found = declined(decline, { transaction_id: pspReference, response_code, response_text: decline.name });
  return { ...found, ...authenticationIn(more, null) };
}

function followUp({ merchantReference, pspReference }: NoticeItem, isDone: boolean): NoticeSubject {
  const found = isDone
    ? approved(pspReference, true)
    : declined(refusedLater, { transaction_id: pspReference, response_text: refusedLater.name });
  return operation(referenceOfModification(merchantReference ?? ''), found);
}

/** Adyen signs only references and amount. The rest counts if the sender has also given the user name and the password. */
type Additional = Parameters<typeof authorizationIn>[0]['additionalData'];

function additionalOf({ additionalData: given }: NoticeItem, hasPassword: boolean): Additional {
  return hasPassword && additionalCheck.Check(given) ? given : undefined;
}

type Reader = (item: NoticeItem, isSuccess: boolean, more: Additional) => NoticeSubject;

function authorized({ merchantReference, pspReference, amount }: NoticeItem, more: Additional): NoticeSubject {
  const payment = { resultCode: 'Authorised', pspReference };
  const found = authorizationIn({ ...payment, ...(more && { additionalData: more }) }, amount, null);
  const plain = { pspReference, amount, networkTransactionId: null, ...noChecks };
  const handle = found?.outcome === 'prepared' ? found.handle : handleOf(plain);
  return {
    kind: 'authorized',
    charge: { reference: merchantReference || null, transactionId: pspReference },
    handle,
  };
}
const noChecks = { authorization_code: null, avs_result: null, cvv_result: null };

/** The bank has decided about a card. Its customer may have closed the browser. */
function checked(item: NoticeItem, isSuccess: boolean, more: Additional): NoticeSubject {
  const { merchantReference: reference, pspReference } = item;
  if (!reference) return other;
  if (!isSuccess) return { kind: 'card_set_up', reference, found: refusal(item, more) };
  const payment = { resultCode: 'Authorised', pspReference, ...(more && { additionalData: more }) };
  return { kind: 'card_set_up', reference, found: setUpBy(payment, null) };
}

/** A capture that Adyen accepted and did not execute. */
function captureRefused(item: NoticeItem): NoticeSubject {
  const reference = referenceOfModification(item.merchantReference ?? '');
  if (reference === undefined) return { kind: 'not_captured', charge: chargeOf(item) };
  const charge = { reference, transactionId: item.originalReference || null };
  const found = declined(refusedLater, { transaction_id: item.pspReference, response_text: refusedLater.name });
  return { kind: 'capture_refused', reference, charge, found };
}
const notCaptured: Reader = (item) => captureRefused(item);
const captured = (item: NoticeItem): NoticeSubject => {
  const later = referenceOfModification(item.merchantReference ?? '');
  return later === undefined
    ? operation(item.merchantReference, approved(item.originalReference, false))
    : operation(later, approved(item.pspReference, false));
};
const ofVoid = (item: NoticeItem, isSuccess: boolean): NoticeSubject => {
  const about = followUp(item, isSuccess);
  if (about.kind !== 'operation') return about;
  return { ...about, charge: { reference: null, transactionId: item.originalReference || null } };
};
const cancelled: Reader = (item, isSuccess) => {
  const { merchantReference } = item;
  // The release of an authorization that was to be captured later has a reference of its own.
  if (referenceOfModification(merchantReference ?? '') !== undefined) return ofVoid(item, isSuccess);
  // A cancellation fails if there is nothing to cancel, and also if the payment was captured. That decides nothing.
  return isSuccess ? operation(merchantReference, neverHappened) : other;
};
const failedLater: Reader = (item) => followUp(item, false);

const readers: Readonly<Record<string, Reader>> = {
  AUTHORISATION: (item, isSuccess, more) => {
    // Only the check of a card has an amount of zero.
    if (item.amount.value === 0) return checked(item, isSuccess, more);
    return isSuccess ? authorized(item, more) : operation(item.merchantReference, refusal(item, more));
  },
  CAPTURE: (item, isSuccess) => (isSuccess ? captured(item) : captureRefused(item)),
  CAPTURE_FAILED: notCaptured,
  CANCELLATION: cancelled,
  TECHNICAL_CANCEL: cancelled,
  EXPIRE: cancelled,
  CANCEL_OR_REFUND: ofVoid,
  REFUND: followUp,
  REFUND_FAILED: failedLater,
  REFUNDED_REVERSED: failedLater,
};

/** Adyen may capture again what a card network had rejected, with the same code and reference. */
const isRecapture = ({ reason }: NoticeItem): boolean => /recaptured/i.test(reason ?? '');

function noticeOf(item: NoticeItem, nowMs: number, hasPassword: boolean): Notice {
  const { eventCode, pspReference, eventDate } = item;
  const isSuccess = String(item.success) === 'true';
  const atMs = Date.parse(eventDate ?? '');
  const dispute = disputeOf(item);
  const about = dispute
    ? ({ kind: 'dispute', dispute } as const)
    : (ownEntry(readers, eventCode)?.(item, isSuccess, additionalOf(item, hasPassword)) ?? other);
  const status = disputeStatusOf(item);
  return {
    id: [
      eventCode,
      pspReference,
      isSuccess,
      ...(isRecapture(item) ? ['recaptured'] : []),
      ...(status ? [status] : []),
    ].join(':'),
    type: eventCode,
    atMs: (Number.isNaN(atMs) ? nowMs : atMs) + (dispute ? progressMs(item, dispute) : 0),
    about,
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Adyen sends the notices of an endpoint one after another, and repeats one that is refused for weeks before it goes on. So a
 * notice with a valid signature is always accepted: one about another merchant account, or one that is not understood, is kept.
 */
function noticeOrKept(item: SignedItem, { merchantAccount, basic }: NoticeSettings, nowMs: number): Notice {
  if (readableItem.Check(item) && item.merchantAccountCode === merchantAccount) {
    return noticeOf(item, nowMs, basic !== undefined);
  }
  const type = /^(?!UNVERIFIED$)[A-Z0-9_]{1,60}$/.exec(item.eventCode ?? '')?.[0] ?? 'UNKNOWN';
  return { id: keptIdOf(item), type, atMs: nowMs, about: other };
}

const unverifiedType = 'UNVERIFIED';

/** It has no effect, because anyone could have written it. Refused, it would keep back the signed ones beside it. */
const unverified = (item: unknown, nowMs: number): Notice => ({
  id: unverifiedIdOf(item),
  type: unverifiedType,
  atMs: nowMs,
  about: other,
});

export function receptionOf({ headers, body, nowMs }: NoticeDelivery, settings: NoticeSettings): Reception {
  const refused = (reason: string): Reception => ({ outcome: 'refused', reason });
  const { hmacKey } = settings;
  if (!hmacKey) return refused('the HMAC key of the webhook is not entered');
  if (!isSignedIn(headers, settings.basic)) return refused('the user name or the password of the webhook is wrong');
  const content = parsed(body);
  if (!noticeBody.Check(content)) return refused('the body is not a webhook of Adyen');
  const items = content.notificationItems.map(({ NotificationRequestItem: item = null }) => item);
  const notices = items.map((item) =>
    isSigned(item, hmacKey) ? noticeOrKept(item, settings, nowMs) : unverified(item, nowMs),
  );
  // With none that is signed, the HMAC key may be another: Adyen sends them again when it is entered.
  if (notices.every(({ type }) => type === unverifiedType)) return refused('the signature is missing or wrong');
  return { outcome: 'accepted', notices, reply: '[accepted]' };
}
