import { Badge } from '../../components/badge.tsx';
import { CopyId } from '../../components/copy.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useLive } from '../../components/live.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { ObjectLink, objectOfPath } from '../../components/object-link.tsx';
import { Empty } from '../../components/empty.tsx';
import { Facts, Load, Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { useFilters, useGet } from '../../data.ts';
import { datesFilter, type Filter } from '../../list-filters.ts';
import { milliseconds } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import type { LoggedRequestDetails, LoggedRequest } from '../../types.ts';

const statuses = Object.entries(developers.statusClasses).map(([value, label]) => ({ value, label }));

const filters: readonly Filter[] = [
  { kind: 'choices', single: true, name: 'status', label: developers.status, choices: statuses },
  datesFilter,
  {
    kind: 'choices',
    single: true,
    name: 'method',
    label: developers.method,
    choices: ['GET', 'POST', 'PATCH', 'DELETE'].map((value) => ({ value, label: value })),
  },
  { kind: 'text', name: 'path', label: developers.path, placeholder: '/v1/orders' },
  { kind: 'text', name: 'request_id', label: developers.requestId, placeholder: 'req_…' },
];

export function StatusBadge({ status }: { status: number }) {
  return <Badge status={String(status)} tone={status < 300 ? 'good' : status < 500 ? 'warn' : 'bad'} />;
}

export function RequestsPage() {
  const [{ open }, change] = useFilters();
  const [live, liveButton] = useLive();
  return (
    <Page title={developers.requestsTitle} lead={developers.requestsLead}>
      <ResourceTable<LoggedRequest>
        path="/v1/requests"
        label={developers.requestsTitle}
        everyMs={live}
        actions={liveButton}
        keyOf={({ id }) => id}
        onOpen={(entry) => change({ open: entry.request_id })}
        filters={filters}
        columns={[
          {
            header: developers.path,
            cell: (entry) => (
              <span className="font-mono text-[13px] break-all">
                {entry.method} {entry.path}
              </span>
            ),
          },
          { header: developers.status, cell: (entry) => <StatusBadge status={entry.status} /> },
          {
            header: developers.took,
            cell: ({ duration_ms }) => milliseconds(duration_ms),
            end: true,
            wide: true,
          },
          {
            header: developers.by,
            cell: ({ actor }) => <span className="whitespace-nowrap">{actor?.name ?? '—'}</span>,
            wide: true,
          },
          { header: developers.requestId, cell: ({ request_id: id }) => <CopyId id={id} />, wide: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} real />, end: true, wide: true },
        ]}
        empty={
          <Empty title={developers.emptyRequests}>
            <p>{developers.emptyRequestsText}</p>
            <Curl method="GET" path="/v1/customers" />
          </Empty>
        }
      />
      {open && <RequestDrawer requestId={open} onClose={() => change({ open: undefined })} />}
    </Page>
  );
}

function RequestDrawer({ requestId, onClose }: { requestId: string; onClose: () => void }) {
  const query = useGet<LoggedRequestDetails>(`/v1/requests/${requestId}`);
  return (
    <Dialog title={developers.request} drawer onClose={onClose}>
      <Load query={query}>
        {(entry) => (
          <div className="flex flex-col gap-5">
            <p className="font-mono break-all">
              {entry.method} {entry.path}
            </p>
            <Facts
              facts={[
                [developers.status, <StatusBadge key="status" status={entry.status} />],
                [developers.requestId, <CopyId key="id" id={entry.request_id} whole />],
                objectOfPath(entry.path) && [developers.object, <PathObject key="object" path={entry.path} />],
                [developers.took, milliseconds(entry.duration_ms)],
                [developers.by, entry.actor?.name],
                [developers.address, entry.address],
                [developers.apiVersion, entry.api_version],
                entry.idempotency_key !== null && [
                  developers.idempotencyKey,
                  <CopyId key="key" id={entry.idempotency_key} whole />,
                ],
                [common.date, <DateTime key="at" at={entry.created_at} real />],
              ]}
            />
            {hasContent(entry.query) && <JsonView value={entry.query} label={developers.query} />}
            {hasContent(entry.request_body) && <JsonView value={entry.request_body} label={developers.requestBody} />}
            {hasContent(entry.response_body) && (
              <JsonView value={entry.response_body} label={developers.responseBody} />
            )}
          </div>
        )}
      </Load>
    </Dialog>
  );
}

function PathObject({ path }: { path: string }) {
  const object = objectOfPath(path);
  return object && <ObjectLink {...object} />;
}

function hasContent(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
