/** What the service writes into the page. */
const written = (name: string): string | undefined =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content;

/** The name of the installation. */
export const productName = written('application-name') ?? 'Svc';

/** Whether a mail server sends emails. Without one, they are on the page /mailbox or only in the list of `svc mails`. */
const emails = written('svc-emails');
export const unsentEmails = emails === 'mailbox' || emails === 'stored' ? emails : undefined;
