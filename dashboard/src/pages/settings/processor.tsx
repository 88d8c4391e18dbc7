import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings, Connection, Connections } from '../../types.ts';

export function Processor({ company, reason }: { company: CompanySettings; reason: string | undefined }) {
  const [open, setOpen] = useState<'connect' | Connection>();
  const live = company.mode === 'live';
  const { data } = useGet<Connections>('/dashboard/processors', {}, { enabled: live });
  const close = () => setOpen(undefined);
  if (!live) {
    return (
      <Panel title={settings.processor}>
        <p className="text-muted">{settings.processorSandbox}</p>
      </Panel>
    );
  }
  const { connections = [], kinds = [] } = data ?? {};
  return (
    <Panel
      title={settings.processor}
      actions={
        kinds.length > 0 && (
          <Button
            small
            kind={connections.length > 0 ? 'plain' : 'primary'}
            reason={reason}
            onClick={() => setOpen('connect')}
          >
            {settings.connect}
          </Button>
        )
      }
    >
      {connections.length === 0 && (
        <p className="text-muted">{kinds.length > 0 ? settings.processorNone : settings.processorAsk}</p>
      )}
      <ul className="grid gap-3">
        {connections.map((connection) => (
          <li key={connection.id} className="flex flex-wrap items-center gap-3">
            <Badge
              status={connection.status === 'connected' ? 'enabled' : 'disabled'}
              label={settings.connectionStatus[connection.status]}
            />
            <span className="font-medium">{connection.name}</span>
            {connection.notice_url && <CopyButton text={connection.notice_url} label={settings.noticeUrl} />}
            {connection.status === 'connected' && (
              <Button small reason={reason} onClick={() => setOpen(connection)}>
                {settings.disconnect}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {open === 'connect' && <Connect kinds={kinds} onClose={close} />}
      {typeof open === 'object' && (
        <Confirm
          title={settings.disconnect}
          confirm={settings.disconnect}
          danger
          done={settings.disconnected}
          send={(key) => call('POST', `/dashboard/processors/${open.id}/disconnect`, { key, body: {} })}
          onClose={close}
        >
          {settings.disconnectText}
        </Confirm>
      )}
    </Panel>
  );
}

type Kind = Connections['kinds'][number];

function Connect({ kinds, onClose }: { kinds: readonly Kind[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(kinds[0]?.kind ?? '');
  const kind = kinds.find((one) => one.kind === chosen);
  return (
    <Dialog title={settings.connect} onClose={onClose}>
      <div className="mb-4 flex flex-wrap gap-2">
        {kinds.map(({ kind: value, name }) => (
          <Button key={value} small kind={value === chosen ? 'primary' : 'plain'} onClick={() => setChosen(value)}>
            {name}
          </Button>
        ))}
      </div>
      {kind && <Credentials key={kind.kind} kind={kind} onClose={onClose} />}
    </Dialog>
  );
}

function Credentials({ kind, onClose }: { kind: Kind; onClose: () => void }) {
  const initial = Object.fromEntries(kind.fields.map(({ name, choices }) => [name, choices?.[0] ?? '']));
  const form = useForm({
    initial,
    send: (draft, key) => {
      const configuration = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== ''));
      return call<Connection>('POST', '/dashboard/processors', { body: { kind: kind.kind, configuration }, key });
    },
    onDone: () => {
      toast(settings.connected);
      onClose();
    },
  });
  return (
    <Form form={form} submit={settings.connect} onCancel={onClose}>
      {kind.fields.map(({ name, label, help, is_secret, choices }) =>
        choices ? (
          <SelectField
            key={name}
            form={form}
            name={name}
            path={`configuration.${name}`}
            label={label}
            hint={help}
            choices={choices.map((value) => ({ value, label: value }))}
          />
        ) : (
          <TextField
            key={name}
            form={form}
            name={name}
            path={`configuration.${name}`}
            label={label}
            hint={is_secret ? `${help} ${settings.secretHint}` : help}
            type={is_secret ? 'password' : 'text'}
            autoComplete="off"
          />
        ),
      )}
    </Form>
  );
}
