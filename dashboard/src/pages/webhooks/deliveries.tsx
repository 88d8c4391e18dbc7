import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Facts } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { choicesOf, type Filter } from '../../list-filters.ts';
import { milliseconds, words } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { WebhookDelivery, WebhookDeliveryLog } from '../../types.ts';

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'delivery_status',
    label: common.status,
    choices: choicesOf(['pending', 'delivered', 'failed']),
  },
];
const nothing = (text: string) => <p className="p-6 text-center text-muted">{text}</p>;

export function Deliveries({ endpointId, reason }: { endpointId: string; reason: string | undefined }) {
  const [open, setOpen] = useState<WebhookDelivery>();
  return (
    <>
      <ResourceTable<WebhookDelivery>
        path={`/v1/webhook_endpoints/${endpointId}/events`}
        everyMs={lookEveryMs}
        label={webhooks.deliveries}
        keyOf={({ id }) => id}
        onOpen={setOpen}
        filters={filters}
        columns={[
          { header: webhooks.event, cell: ({ type }) => <span className="font-mono text-[13px]">{type}</span> },
          { header: common.status, cell: (delivery) => <DeliveryStatus delivery={delivery} /> },
          { header: webhooks.attempts, cell: ({ attempts }) => attempts, end: true, wide: true },
          {
            header: webhooks.lastAttempt,
            cell: ({ last_attempt_at }) => <DateTime at={last_attempt_at} />,
            wide: true,
          },
          {
            header: webhooks.nextAttempt,
            cell: ({ next_attempt_at }) => <DateTime at={next_attempt_at} />,
            wide: true,
          },
        ]}
        empty={nothing(webhooks.noDeliveries)}
      />
      {open && (
        <DeliveryDrawer endpointId={endpointId} delivery={open} reason={reason} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}

interface DrawerProps {
  readonly endpointId: string;
  readonly delivery: WebhookDelivery;
  readonly reason: string | undefined;
  readonly onClose: () => void;
}

function DeliveryDrawer({ endpointId, delivery, reason, onClose }: DrawerProps) {
  const replay = useAction<null, WebhookDelivery>({
    send: (_input, key) =>
      call('POST', `/v1/webhook_endpoints/${endpointId}/events/${delivery.id}/replay`, { body: { force: true }, key }),
    onDone: () => {
      toast(webhooks.replayed);
      onClose();
    },
  });
  const path = `/dashboard/webhook_endpoints/${endpointId}/events/${delivery.id}/attempts`;
  const attempts = useGet<{ data: readonly WebhookDeliveryLog[] }>(path).data?.data ?? [];
  const [last] = attempts;
  return (
    <Dialog title={delivery.type} drawer onClose={onClose}>
      <div className="flex flex-col gap-5">
        <Facts
          facts={[
            [common.status, <DeliveryStatus key="status" delivery={delivery} />],
            [common.id, <CopyId key="id" id={delivery.id} />],
            last && [webhooks.answer, <Answer key="answer" attempt={last} />],
            last && [webhooks.took, milliseconds(last.duration_ms)],
            [webhooks.attempts, delivery.attempts],
            [webhooks.lastAttempt, <DateTime key="last" at={delivery.last_attempt_at} />],
            [webhooks.nextAttempt, <DateTime key="next" at={delivery.next_attempt_at} />],
          ]}
        />
        {replay.error && <ErrorNote error={replay.error} />}
        <div className="flex flex-wrap gap-2">
          <Button kind="primary" reason={reason} busy={replay.busy} onClick={() => void replay.run(null)}>
            {webhooks.replay}
          </Button>
          <LinkButton to={`/developers/events/${delivery.id}`}>{webhooks.seeEvent}</LinkButton>
        </div>
        {last?.response_body && <JsonView value={last.response_body} label={webhooks.answer} />}
        <AttemptTable attempts={attempts} />
        <JsonView value={delivery.data} label={webhooks.payload} />
      </div>
    </Dialog>
  );
}

/** An event that was tried and waits is being retried. */
function DeliveryStatus({ delivery: { delivery_status: status, attempts } }: { delivery: WebhookDelivery }) {
  if (status !== 'pending' || attempts === 0) return <Badge status={status} />;
  return <Badge status={status} label={webhooks.retrying} tone="warn" />;
}

function Answer({ attempt: { status, http_status, error } }: { attempt: WebhookDeliveryLog }) {
  return (
    <>
      <Badge status={status} label={String(http_status ?? words(status))} />
      {error && <span className="mt-0.5 block text-sm text-muted">{error}</span>}
    </>
  );
}

function AttemptTable({ attempts }: { attempts: readonly WebhookDeliveryLog[] }) {
  if (attempts.length === 0) return null;
  return (
    <div className="panel">
      <Table
        label={webhooks.attempts}
        rows={attempts}
        keyOf={({ id }) => id}
        columns={[
          { header: webhooks.attempt, cell: ({ attempt }) => attempt },
          { header: webhooks.answer, cell: (attempt) => <Answer attempt={attempt} /> },
          { header: webhooks.took, cell: ({ duration_ms }) => milliseconds(duration_ms), end: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
      />
    </div>
  );
}

export function Attempts({ endpointId }: { endpointId: string }) {
  const [open, setOpen] = useState<WebhookDeliveryLog>();
  return (
    <>
      <ResourceTable<WebhookDeliveryLog>
        path={`/v1/webhook_endpoints/${endpointId}/delivery_logs`}
        everyMs={lookEveryMs}
        label={webhooks.attempts}
        keyOf={({ id }) => id}
        onOpen={setOpen}
        columns={[
          {
            header: webhooks.event,
            cell: ({ event_type }) => <span className="font-mono text-[13px]">{event_type}</span>,
          },
          {
            header: common.status,
            cell: ({ status, http_status }) => <Badge status={status} label={String(http_status ?? words(status))} />,
          },
          { header: webhooks.attempt, cell: ({ attempt }) => attempt, end: true, wide: true },
          { header: webhooks.took, cell: ({ duration_ms }) => milliseconds(duration_ms), end: true, wide: true },
          { header: webhooks.error, cell: ({ error }) => error ?? '—', wide: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true },
        ]}
        empty={nothing(webhooks.noAttempts)}
      />
      {open && (
        <Dialog title={open.event_type} drawer onClose={() => setOpen(undefined)}>
          <div className="flex flex-col gap-5">
            <Facts
              facts={[
                [common.status, <Badge key="status" status={open.status} />],
                [webhooks.answer, open.http_status ?? '—'],
                [webhooks.attempt, open.attempt],
                [webhooks.took, milliseconds(open.duration_ms)],
                open.error !== null && [webhooks.error, open.error],
                [common.date, <DateTime key="at" at={open.created_at} />],
              ]}
            />
            <JsonView value={open.request_headers} label={webhooks.headers} />
            {open.response_body !== null && <JsonView value={open.response_body} label={webhooks.answer} />}
          </div>
        </Dialog>
      )}
    </>
  );
}
