import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { mailStates } from '../mails/schemas.ts';
import { emailKinds } from '../profile/schemas.ts';
import { requestKinds } from './content.ts';

/** Used only by the dashboard. */

const emailKind = choice([...emailKinds, ...requestKinds]);

export const customerEmail = Type.Object({
  id: uuid(),
  kind: emailKind,
  state: choice(mailStates, { description: '`failed`: the mail server refused it, or it was retried too often.' }),
  recipient: Type.String(),
  subject: Type.String(),
  customer_id: uuid(),
  object_id: uuid({ description: 'The order or subscription.' }),
  attempts: Type.Integer(),
  error: nullable(Type.String({ description: 'What the mail server answered to the last attempt.' })),
  attachment: nullable(
    Type.Object(
      { invoice_id: uuid(), number: Type.String() },
      { description: 'The invoice or credit note that it carries, once that has its number.' },
    ),
  ),
  sent_at: nullable(timestamp()),
  created_at: timestamp(),
});
export type CustomerEmail = Static<typeof customerEmail>;

export const emailPreview = Type.Object({
  subject: Type.String(),
  from_name: Type.String(),
  reply_to: nullable(Type.String()),
  text: Type.String(),
  url: Type.String({ description: 'Shows the HTML for some minutes.' }),
});
export type EmailPreview = Static<typeof emailPreview>;
