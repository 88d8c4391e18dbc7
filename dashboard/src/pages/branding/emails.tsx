import { unsentEmails } from '../../brand.ts';
import { Badge } from '../../components/badge.tsx';
import { LinkButton, TextLink } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { UnsentEmails } from '../../components/mailbox-link.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { OnPhone } from '../../components/table.tsx';
import { lookEveryMs } from '../../data.ts';
import type { Filter } from '../../list-filters.ts';
import { useCan } from '../../session.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { emails } from '../../texts/emails.ts';
import type { CustomerEmail } from '../../types.ts';

const tones = { sent: 'good', waiting: 'info', failed: 'bad', kept: 'calm' } as const;
const kindNames = { ...branding.kinds, ...branding.requests };
const isAboutOrder = ({ kind }: CustomerEmail): boolean => /_receipt$|_request$|^payment_failed$/.test(kind);

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'state',
    label: emails.state,
    choices: Object.entries(emails.states).map(([value, label]) => ({ value, label })),
  },
];

/** The page of the document has its PDF. */
function Attachment({ invoice_id, number }: NonNullable<CustomerEmail['attachment']>) {
  const canRead = useCan('invoices:read');
  return (
    <span className="mt-1 block text-sm text-muted">
      {emails.attachment}: {canRead ? <TextLink to={`/invoices/${invoice_id}`}>{number}</TextLink> : number}
    </span>
  );
}

/** The emails to customers, and what the mail server said about those that it refused. */
export function EmailsPage() {
  return (
    <Page
      title={emails.title}
      lead={unsentEmails ? <UnsentEmails /> : emails.lead}
      actions={<LinkButton to="/settings/branding">{emails.settings}</LinkButton>}
    >
      <ResourceTable<CustomerEmail>
        path="/dashboard/customer_emails"
        label={emails.title}
        keyOf={({ id }) => id}
        link={(mail) => `/${isAboutOrder(mail) ? 'orders' : 'subscriptions'}/${mail.object_id}`}
        everyMs={lookEveryMs}
        filters={filters}
        columns={[
          {
            header: emails.kind,
            cell: ({ kind, recipient }) => (
              <>
                {kindNames[kind]}
                <OnPhone>{recipient}</OnPhone>
              </>
            ),
          },
          {
            header: emails.state,
            cell: ({ state: now, error, attempts }) => (
              <>
                <Badge status={now} label={emails.states[now]} tone={tones[now]} />
                {error && (
                  <span className="mt-1 block max-w-sm text-sm wrap-anywhere text-muted">
                    {emails.attempts(attempts)}: {error}
                  </span>
                )}
              </>
            ),
          },
          { header: emails.recipient, cell: ({ recipient }) => recipient, wide: true },
          {
            header: emails.subject,
            cell: ({ subject, attachment }) => (
              <>
                {subject}
                {attachment && <Attachment {...attachment} />}
              </>
            ),
            wide: true,
          },
          {
            header: common.date,
            cell: ({ sent_at, created_at }) => <DateTime at={sent_at ?? created_at} real={sent_at !== null} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={emails.empty} actions={<LinkButton to="/settings/branding">{emails.settings}</LinkButton>}>
            {emails.emptyText}
          </Empty>
        }
      />
    </Page>
  );
}
