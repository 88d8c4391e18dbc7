import { createTransport } from 'nodemailer';
import { inWords } from '../components.ts';
import { errorCode } from '../error-code.ts';
import { type MailAttachment, type Mailer, RefusedRecipientError } from './mailer.ts';

const timeoutMs = 20_000;

/** `smtp://user:password@host:587`, or `smtps://` for TLS from the start. */
export function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from },
  );
  const address = /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;
  const domain =
    address
      .split('@')
      .at(-1)
      ?.replaceAll(/[^\w.-]/g, '') || 'localhost';
  return {
    async send({ id, recipient, subject, text, html, fromName, replyTo, unsubscribeUrl, attachment }) {
      await transport
        .sendMail({
          ...(fromName !== undefined && { from: { name: oneLine(fromName), address } }),
          ...(replyTo !== undefined && { replyTo: { name: '', address: replyTo } }),
          to: { name: '', address: recipient },
          subject: oneLine(subject),
          text,
          ...(html !== undefined && { html }),
          ...(attachment && { attachments: [attached(attachment)] }),
          messageId: `<${id}@${domain}>`,
          // Programs that answer for their owners stay silent.
          headers: { 'Auto-Submitted': 'auto-generated', ...(unsubscribeUrl && unsubscribing(unsubscribeUrl)) },
        })
        .catch(asRefusal);
    },
    async check() {
      // Connects and signs in, as for a mail.
      await transport.verify().catch((error: unknown) => {
        throw inPlainWords(error);
      });
    },
    async close() {
      transport.close();
    },
  };
}

const attached = ({ fileName, type, content }: MailAttachment) => ({
  filename: oneLine(fileName),
  contentType: type,
  content,
});

const isRefusal = (error: unknown): boolean => errorCode(error) === 'EAUTH';
const inPlainWords = inWords(isRefusal, 'the mail server refuses our login');

/** A line break in a header would begin another header. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

const unsubscribing = (url: string): Record<string, string> => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

/** A code from 500 for the recipient is final. For the login or the connection it is a fault of the settings. */
function asRefusal(error: unknown): never {
  const { code, responseCode = 0, message = '' } = error as { code?: string; responseCode?: number; message?: string };
  if (code === 'EENVELOPE' && responseCode >= 500) throw new RefusedRecipientError(message, { cause: error });
  throw error;
}
