import { createHmac, hash } from 'node:crypto';
import Type from 'typebox';

/** One notice of Adyen's standard webhook, and its signature. */

/** What a notice must have so that its signature can be checked. */
const text = Type.Optional(Type.Union([Type.String(), Type.Null()]));
export const signedItemSchema = Type.Object({
  pspReference: text,
  originalReference: text,
  merchantAccountCode: text,
  merchantReference: text,
  amount: Type.Optional(
    Type.Union([
      Type.Object({ value: Type.Optional(Type.Union([Type.Number(), Type.String()])), currency: text }),
      Type.Null(),
    ]),
  ),
  eventCode: text,
  success: Type.Optional(Type.Union([Type.String(), Type.Boolean(), Type.Null()])),
  additionalData: Type.Optional(Type.Unknown()),
});
export type SignedItem = Type.Static<typeof signedItemSchema>;

/** The values before our reference contain no colon, so that the signed text has only one meaning. */
const withoutColon = Type.String({ pattern: '^[^:]{0,80}$' });
export const itemSchema = Type.Object({
  pspReference: withoutColon,
  originalReference: Type.Optional(Type.Union([withoutColon, Type.Null()])),
  merchantAccountCode: withoutColon,
  merchantReference: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
  amount: Type.Object({ value: Type.Integer(), currency: Type.String({ pattern: '^[A-Z]{3}$' }) }),
  eventCode: Type.String({ pattern: '^[A-Z0-9_]{1,60}$' }),
  success: Type.Union([Type.Literal('true'), Type.Literal('false'), Type.Boolean()]),
  eventDate: Type.Optional(Type.String()),
  reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  additionalData: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type NoticeItem = Type.Static<typeof itemSchema>;

/** Adyen signs these values and nothing else: the date, the reason and the additional data are not signed. */
function signedTextOf(item: SignedItem): string {
  const { pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode, success } = item;
  const values = [
    pspReference,
    originalReference,
    merchantAccountCode,
    merchantReference,
    amount?.value,
    amount?.currency,
    eventCode,
    success,
  ];
  return values.map((value) => value ?? '').join(':');
}

export function signatureOf(item: SignedItem, hmacKey: string): string {
  return createHmac('sha256', Buffer.from(hmacKey, 'hex')).update(signedTextOf(item), 'utf8').digest('base64');
}

/** An id for a notice that is only kept: the same for each delivery. */
export const keptIdOf = (item: SignedItem): string => `kept:${hash('sha256', signedTextOf(item), 'hex')}`;

export const unverifiedIdOf = (item: unknown): string => `unverified:${hash('sha256', JSON.stringify(item), 'hex')}`;
