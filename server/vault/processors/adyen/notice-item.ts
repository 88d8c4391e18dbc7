import { createHmac } from 'node:crypto';
import Type from 'typebox';

/** One notice of Adyen's standard webhook, and its signature. */

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
export function signatureOf(item: NoticeItem, hmacKey: string): string {
  const { pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode, success } = item;
  const text = [
    pspReference,
    originalReference ?? '',
    merchantAccountCode,
    merchantReference ?? '',
    amount.value,
    amount.currency,
    eventCode,
    success,
  ].join(':');
  return createHmac('sha256', Buffer.from(hmacKey, 'hex')).update(text, 'utf8').digest('base64');
}
