import { useState } from 'react';
import { call, changeField } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useAction } from '../../components/form.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { WebhookEndpoint } from '../../types.ts';
import { Attempts, Deliveries } from './deliveries.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { EndpointProblems, EndpointStatus, RecentResults } from './health.tsx';
import { MoveVersion } from './move-version.tsx';
import { RotateSecret } from './rotate-secret.tsx';
import { TestEndpoint } from './test-endpoint.tsx';
import { navigate, useParams } from '../../routing.tsx';

export function WebhookPage() {
  const { id = '' } = useParams();
  const path = `/v1/webhook_endpoints/${id}`;
  const query = useGet<WebhookEndpoint>(path);
  return (
    <LoadWhole query={query} path={path}>
      {(endpoint) => <Details endpoint={endpoint} />}
    </LoadWhole>
  );
}

function Details({ endpoint }: { endpoint: WebhookEndpoint }) {
  const [open, setOpen] = useState<'edit' | 'rotate' | 'test' | 'move' | 'delete'>();
  const reason = useCan('webhook_endpoints:write') ? undefined : common.notAllowed;
  const close = () => setOpen(undefined);
  const path = `/v1/webhook_endpoints/${endpoint.id}`;
  const on = endpoint.status === 'enabled';
  const toggle = useAction<string, WebhookEndpoint>({
    tells: true,
    send: (status, key) => changeField(path, 'status', status, key),
    onDone: ({ status }) => toast(status === 'enabled' ? webhooks.enabled : webhooks.disabled),
  });
  return (
    <Page
      title={endpoint.url}
      badge={<EndpointStatus endpoint={endpoint} />}
      lead={endpoint.description}
      back={{ to: '/developers/webhooks', label: webhooks.title }}
      actions={
        <>
          <Button reason={reason} onClick={() => setOpen('test')}>
            {webhooks.test}
          </Button>
          <Button reason={reason} busy={toggle.busy} onClick={() => void toggle.run(on ? 'disabled' : 'enabled')}>
            {on ? webhooks.disable : webhooks.enable}
          </Button>
          <Menu trigger={<IconButton label={common.more} icon="more" />}>
            <MenuItem reason={reason} onSelect={() => setOpen('edit')}>
              {common.edit}
            </MenuItem>
            <MenuItem reason={reason} onSelect={() => setOpen('rotate')}>
              {webhooks.rotate}
            </MenuItem>
            <MenuItem reason={reason} onSelect={() => setOpen('move')}>
              {webhooks.move}
            </MenuItem>
            <MenuItem reason={reason} danger onSelect={() => setOpen('delete')}>
              {common.delete}
            </MenuItem>
          </Menu>
        </>
      }
    >
      <EndpointProblems
        endpoint={endpoint}
        reason={reason}
        busy={toggle.busy}
        onEnable={() => void toggle.run('enabled')}
      />
      <Panel title={common.details}>
        <Facts
          facts={[
            [common.id, <CopyId key="id" id={endpoint.id} />],
            [
              webhooks.events,
              endpoint.enabled_events.includes('*') ? (
                webhooks.allEvents
              ) : (
                <span key="events" className="font-mono text-[13px]">
                  {endpoint.enabled_events.join(', ')}
                </span>
              ),
            ],
            [webhooks.lastDay, <RecentResults key="recent" endpointId={endpoint.id} />],
            [webhooks.version, endpoint.api_version],
            [common.created, <DateTime key="created" at={endpoint.created_at} />],
          ]}
        />
      </Panel>
      <Tabs
        label={webhooks.tabs}
        tabs={[
          {
            id: 'deliveries',
            label: webhooks.deliveries,
            content: <Deliveries endpointId={endpoint.id} reason={reason} />,
          },
          { id: 'attempts', label: webhooks.attempts, content: <Attempts endpointId={endpoint.id} /> },
        ]}
      />
      {open === 'edit' && <EndpointForm endpoint={endpoint} onClose={close} onDone={() => toast(common.saved)} />}
      {open === 'rotate' && <RotateSecret endpointId={endpoint.id} onClose={close} />}
      {open === 'test' && <TestEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'move' && <MoveVersion endpoint={endpoint} onClose={close} />}
      {open === 'delete' && (
        <Confirm
          title={webhooks.delete}
          confirm={common.delete}
          danger
          done={webhooks.deleted}
          send={(key) => call('DELETE', path, { key })}
          onDone={() => void navigate({ to: '/developers/webhooks' })}
          onClose={close}
        >
          {webhooks.deleteText}
        </Confirm>
      )}
    </Page>
  );
}
