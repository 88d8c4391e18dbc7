import type { Config } from './config.ts';
import { isLocalName } from './http/session-cookie.ts';

/** What happens to emails: a server sends them, the page /mailbox shows them, or only `svc mails` does. */
export type EmailDelivery = 'sent' | 'mailbox' | 'stored';

/**
 * The mailbox is shown only if no mail server is set, and only on a local machine: behind a proxy that does not
 * report client addresses, every client looks local, and mails contain links that grant access to accounts.
 */
export function deliveryOf({ SMTP_URL, SVC_BASE_URL }: Pick<Config, 'SMTP_URL' | 'SVC_BASE_URL'>): EmailDelivery {
  if (SMTP_URL) return 'sent';
  return !SVC_BASE_URL || isLocalName(new URL(SVC_BASE_URL).hostname) ? 'mailbox' : 'stored';
}
