import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { SecretDialog } from '../../components/copy.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { useFirstData, useOpening } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { CreatedWebhookEndpoint, WebhookEndpoint } from '../../types.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { EndpointStatus, FailureRate } from './health.tsx';
import { LocalCommands } from './local-events.tsx';
import { navigate } from '../../routing.tsx';

const listPath = '/v1/webhook_endpoints';

export function WebhooksPage() {
  const [adding, setAdding] = useState(false);
  useOpening('add', () => setAdding(true));
  const [made, setMade] = useState<CreatedWebhookEndpoint>();
  const { mode } = useSignedIn().company;
  const canListen = useCan('events:read') && mode === 'sandbox';
  const hasList = useFirstData(listPath);
  const reason = useCan('webhook_endpoints:write') ? undefined : common.notAllowed;
  const button = (
    <Button kind="primary" icon="plus" reason={reason} onClick={() => setAdding(true)}>
      {webhooks.add}
    </Button>
  );
  return (
    <Page title={webhooks.title} lead={webhooks.lead} actions={button}>
      <ResourceTable<WebhookEndpoint>
        path={listPath}
        label={webhooks.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/developers/webhooks/${id}`}
        columns={[
          {
            header: webhooks.url,
            cell: ({ url }) => (
              <span title={url} className="block max-md:break-all md:max-w-64 md:truncate xl:max-w-md">
                {url}
              </span>
            ),
          },
          { header: common.status, cell: (endpoint) => <EndpointStatus endpoint={endpoint} /> },
          {
            header: webhooks.events,
            cell: ({ enabled_events: events }) =>
              events.includes('*') ? (
                webhooks.allEvents
              ) : (
                <span className="font-mono text-[13px]">{events.join(', ')}</span>
              ),
            wide: true,
            wraps: true,
          },
          {
            header: webhooks.failureRate,
            cell: ({ id }) => <FailureRate endpointId={id} />,
            end: true,
            wide: true,
          },
          {
            header: webhooks.version,
            cell: ({ api_version }) => <span className="whitespace-nowrap">{api_version}</span>,
            wide: true,
          },
          { header: common.created, cell: ({ created_at }) => <DateTime at={created_at} />, wide: true, end: true },
        ]}
        empty={
          <Empty title={webhooks.emptyTitle} actions={button}>
            <p>{webhooks.empty}</p>
            <Curl
              path="/v1/webhook_endpoints"
              body={{ url: 'https://shop.example.com/webhooks', enabled_events: ['order.*'] }}
            />
          </Empty>
        }
      />
      {canListen && hasList && (
        <div className="mt-8">
          <Panel title={webhooks.local.title}>
            <p className="mb-3 text-muted">{webhooks.local.lead}</p>
            <LocalCommands />
            <p className="mt-3 text-muted">
              {webhooks.local.forward}{' '}
              <code className="font-mono text-[13px]">--forward-to localhost:4000/webhooks</code>.{' '}
              <a
                href="/docs/quickstart#4-receive-a-webhook"
                target="_blank"
                rel="noreferrer"
                className="link underline"
              >
                {webhooks.local.guide}
              </a>
            </p>
          </Panel>
        </div>
      )}
      {adding && <EndpointForm onClose={() => setAdding(false)} onDone={setMade} />}
      {made && (
        <SecretDialog
          title={webhooks.secretTitle}
          secret={made.signing_secret}
          note={webhooks.secretOnce}
          onClose={() => void navigate({ to: `/developers/webhooks/${made.id}` })}
        />
      )}
    </Page>
  );
}
