import { createTransport } from 'nodemailer';
import type { Mailer } from './mailer.ts';

const timeoutMs = 20_000;

/** `smtp://user:password@host:587`, or `smtps://` for TLS from the start. */
export function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from },
  );
  const domain =
    from
      .split('@')
      .at(-1)
      ?.replaceAll(/[^\w.-]/g, '') || 'localhost';
  return {
    async send({ id, recipient, subject, body }) {
      await transport.sendMail({
        to: { name: '', address: recipient },
        subject,
        text: body,
        messageId: `<${id}@${domain}>`,
      });
    },
    async check() {
      await transport.verify();
    },
    async close() {
      transport.close();
    },
  };
}
