import { emails } from '../texts/emails.ts';

/** A page of the service, beside the dashboard. */
export function MailboxLink() {
  return (
    <a className="link underline" href="/mailbox" target="_blank" rel="noreferrer">
      {emails.unsent.openMailbox}
    </a>
  );
}
