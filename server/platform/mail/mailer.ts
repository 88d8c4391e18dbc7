/** What sends mails. Its default is none: mails are kept, and shown on the mailbox page. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
  close(): Promise<void>;
}

interface OutgoingMail {
  /** The same mail sent twice has the same id, so that a mailbox can tell. */
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
}
