import { useState } from 'react';
import { TextLink } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ObjectLink } from '../../components/object-link.tsx';
import { Empty } from '../../components/empty.tsx';
import { Facts, Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { OnPhone } from '../../components/table.tsx';
import { datesFilter, type Filter, personOf } from '../../list-filters.ts';
import { words } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { team } from '../../texts/team.ts';
import type { AuditEntry } from '../../types.ts';

/** `createApiKey` → `Create API key` */
const actionText = (action: string): string =>
  words(action.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

const watched = [
  'refundOrder',
  'createBulkRefund',
  'captureOrder',
  'voidOrder',
  'approveAgentCall',
  'refuseAgentCall',
  'createOrder',
  'cancelSubscription',
  'createCustomerCredit',
  'createApiKey',
  'rotateApiKey',
  'revokeApiKey',
  'inviteTeamMember',
  'updateTeamMember',
  'deleteTeamMember',
  'updateRole',
  'updateWebhookEndpoint',
  'updateCompany',
  'createExport',
];

const filters: readonly Filter[] = [
  datesFilter,
  {
    kind: 'choices',
    name: 'action',
    label: team.action,
    choices: watched.map((value) => ({ value, label: actionText(value) })),
  },
  { kind: 'object', name: 'actor_id', label: team.member, path: '/v1/team_members', textOf: personOf },
  { kind: 'text', name: 'object_id', label: team.objectId },
];

function AuditObject({ entry: { object, object_id } }: { entry: AuditEntry }) {
  return object_id ? <ObjectLink type={object?.type} id={object_id} name={object?.name} /> : '—';
}

export function AuditLogPage() {
  const [open, setOpen] = useState<AuditEntry>();
  return (
    <Page title={team.auditTitle} lead={team.auditLead}>
      <ResourceTable<AuditEntry>
        path="/dashboard/audit_log"
        label={team.auditTitle}
        keyOf={({ id }) => id}
        onOpen={setOpen}
        filters={filters}
        exports="audit_log"
        columns={[
          {
            header: team.action,
            cell: ({ action, actor }) => (
              <>
                {actionText(action)}
                <OnPhone roomy>{actor?.name ?? actor?.kind}</OnPhone>
              </>
            ),
          },
          {
            header: team.actor,
            cell: ({ actor }) => <span className="block max-w-64 truncate">{actor?.name ?? actor?.kind ?? '—'}</span>,
            wide: true,
          },
          {
            header: team.object,
            cell: (entry) => <AuditObject entry={entry} />,
            wide: true,
            wraps: true,
          },
          { header: team.address, cell: ({ address }) => address ?? '—', wide: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} real />, end: true },
        ]}
        empty={<Empty title={team.auditEmpty}>{team.auditEmptyText}</Empty>}
      />
      {open && (
        <Dialog title={actionText(open.action)} drawer onClose={() => setOpen(undefined)}>
          <div className="flex flex-col gap-5">
            <Facts
              facts={[
                [team.actor, open.actor?.name ?? open.actor?.kind],
                open.object !== null && [team.object, <AuditObject key="object" entry={open} />],
                open.object_id !== null && [common.id, <CopyId key="id" id={open.object_id} whole />],
                open.fields.length > 0 && [
                  team.fields,
                  <code key="fields" className="font-mono text-[13px]">
                    {open.fields.join(', ')}
                  </code>,
                ],
                [team.address, open.address],
                open.request_id !== null && [
                  team.request,
                  <TextLink key="request" to="/developers/requests" search={{ request_id: open.request_id }}>
                    {open.request_id}
                  </TextLink>,
                ],
                [common.date, <DateTime key="at" at={open.created_at} real />],
              ]}
            />
          </div>
        </Dialog>
      )}
    </Page>
  );
}
