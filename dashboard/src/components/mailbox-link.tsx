import { unsentEmails } from '../brand.ts';
import { emails } from '../texts/emails.ts';

/** A page of the service, beside the dashboard. */
export function MailboxLink() {
  return (
    <a className="link underline" href="/mailbox" target="_blank" rel="noreferrer">
      {emails.unsent.openMailbox}
    </a>
  );
}

/** That customers get no emails, if no mail server sends them. */
export function UnsentEmails() {
  return (
    unsentEmails && (
      <>
        {emails.unsent[unsentEmails]} {unsentEmails === 'mailbox' && <MailboxLink />}
      </>
    )
  );
}
