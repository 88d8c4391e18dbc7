/** Sends mails. Without a mailer, mails are only stored and shown on the mailbox page. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
  /** Fails if the mail server cannot be reached, or rejects the login. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface MailContent {
  readonly text: string;
  /** With it, the mail has both: mail programs show the HTML if they can. */
  readonly html?: string;
  /** The name of the sender; the address is always that of the service. */
  readonly fromName?: string;
  readonly replyTo?: string;
  /** Mail programs show a button for it. A POST to it must be enough (RFC 8058). */
  readonly unsubscribeUrl?: string;
}

export interface MailAttachment {
  readonly fileName: string;
  readonly type: string;
  readonly content: Buffer;
}

interface OutgoingMail extends MailContent {
  /** The same mail sent twice has the same id, so that a mail program can recognise the duplicate. */
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly attachment?: MailAttachment | undefined;
}

/** The mail server will never accept this recipient. */
export class RefusedRecipientError extends Error {}
