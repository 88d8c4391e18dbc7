/** Sends mails. Without a mailer, mails are only stored and shown on the mailbox page. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
  /** Fails if the mail server cannot be reached, or rejects the login. */
  check(): Promise<void>;
  close(): Promise<void>;
}

interface OutgoingMail {
  /** The same mail sent twice has the same id, so that a mail program can recognise the duplicate. */
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
}
