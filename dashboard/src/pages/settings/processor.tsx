import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings } from '../../types.ts';

export function Processor({ company, reason }: { company: CompanySettings; reason: string | undefined }) {
  const [open, setOpen] = useState<'connect' | 'disconnect'>();
  const { kind, url } = company.processor;
  const close = () => setOpen(undefined);
  if (company.mode === 'sandbox') {
    return (
      <Panel title={settings.processor}>
        <p className="text-muted">{settings.processorSandbox}</p>
      </Panel>
    );
  }
  return (
    <Panel
      title={settings.processor}
      actions={
        <>
          {company.acquirers.length > 0 && (
            <Button small kind={kind ? 'plain' : 'primary'} reason={reason} onClick={() => setOpen('connect')}>
              {kind ? settings.change : settings.connect}
            </Button>
          )}
          {kind && (
            <Button small reason={reason} onClick={() => setOpen('disconnect')}>
              {settings.disconnect}
            </Button>
          )}
        </>
      }
    >
      {kind ? (
        <p className="flex flex-wrap items-center gap-3">
          <Badge status="enabled" label={settings.processorConnected} />
          <span className="break-all">{url}</span>
        </p>
      ) : (
        <p className="text-muted">{company.acquirers.length > 0 ? settings.processorNone : settings.processorAsk}</p>
      )}
      {open === 'connect' && (
        <Connect url={url ?? company.acquirers[0] ?? ''} acquirers={company.acquirers} onClose={close} />
      )}
      {open === 'disconnect' && (
        <Confirm
          title={settings.disconnect}
          confirm={settings.disconnect}
          danger
          done={settings.disconnected}
          send={(key) => call('DELETE', '/dashboard/company/processor', { key })}
          onClose={close}
        >
          {settings.disconnectText}
        </Confirm>
      )}
    </Panel>
  );
}

function Connect({ url, acquirers, onClose }: { url: string; acquirers: readonly string[]; onClose: () => void }) {
  const form = useForm({
    initial: { url, secret: '' },
    send: (body, key) => call<CompanySettings>('POST', '/dashboard/company/processor', { body, key }),
    onDone: () => {
      toast(settings.connected);
      onClose();
    },
  });
  return (
    <Dialog title={settings.connect} onClose={onClose}>
      <Form form={form} submit={settings.connect} onCancel={onClose}>
        <SelectField
          form={form}
          name="url"
          label={settings.url}
          choices={acquirers.map((value) => ({ value, label: value }))}
        />
        <TextField
          form={form}
          name="secret"
          label={settings.secret}
          hint={settings.secretHint}
          type="password"
          autoComplete="off"
        />
      </Form>
    </Dialog>
  );
}
