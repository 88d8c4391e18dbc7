import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyButton, CopyId } from '../../components/copy.tsx';
import { download } from '../../download.ts';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { ErrorNote, Form, useAction, useForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { sessionQuery, useSignedIn } from '../../session.ts';
import { account } from '../../texts/account.ts';
import { common } from '../../texts/common.ts';
import type { TotpEnrolment, TotpRecovery } from '../../types.ts';

const QrCode = lazy(() => import('../../components/qr-code.tsx'));

export function SecondFactor() {
  const { user } = useSignedIn().session;
  const client = useQueryClient();
  const [enrolment, setEnrolment] = useState<TotpEnrolment>();
  const [codes, setCodes] = useState<readonly string[]>();
  const [disabling, setDisabling] = useState(false);
  const refresh = () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
  const start = useAction<null, TotpEnrolment>({
    send: (_input, key) => call('POST', '/dashboard/totp', { body: {}, key }),
    onDone: setEnrolment,
  });
  return (
    <Panel
      title={account.totp}
      actions={
        user.totp_enabled ? (
          <Button small onClick={() => setDisabling(true)}>
            {account.totpDisable}
          </Button>
        ) : (
          <Button small kind="primary" busy={start.busy} onClick={() => void start.run(null)}>
            {account.totpStart}
          </Button>
        )
      }
    >
      <div className="flex flex-wrap items-center gap-3">
        {user.totp_enabled && <Badge status="enabled" />}
        <p className="text-muted">{user.totp_enabled ? account.totpOn : account.totpOff}</p>
      </div>
      {start.error && <ErrorNote error={start.error} />}
      {enrolment && (
        <Enrol
          enrolment={enrolment}
          onClose={() => setEnrolment(undefined)}
          onDone={(recovery) => {
            setEnrolment(undefined);
            setCodes(recovery);
            refresh();
          }}
        />
      )}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />}
      {disabling && (
        <Confirm
          title={account.totpDisable}
          confirm={account.totpDisable}
          danger
          done={account.totpDisabled}
          send={(key) => call('DELETE', '/dashboard/totp', { key })}
          onDone={refresh}
          onClose={() => setDisabling(false)}
        >
          {account.totpDisableText}
        </Confirm>
      )}
    </Panel>
  );
}

interface EnrolProps {
  readonly enrolment: TotpEnrolment;
  readonly onClose: () => void;
  readonly onDone: (codes: readonly string[]) => void;
}

function Enrol({ enrolment, onClose, onDone }: EnrolProps) {
  const form = useForm({
    initial: { code: '' },
    send: ({ code }, key) =>
      call<TotpRecovery>('POST', '/dashboard/totp/confirm', {
        body: { code: code.trim() },
        key,
      }),
    onDone: ({ recovery_codes }) => onDone(recovery_codes),
  });
  return (
    <Dialog title={account.totp} onClose={onClose}>
      <Form form={form} submit={common.done} onCancel={onClose}>
        <p>{account.totpScan}</p>
        <Suspense fallback={<div className="size-48" />}>
          <QrCode text={enrolment.otpauth_url} label={account.totpQr} />
        </Suspense>
        <div>
          <p className="text-sm text-muted">{account.totpSecret}</p>
          <CopyId id={enrolment.secret} whole />
        </div>
        <TextField form={form} name="code" label={account.totpCode} inputMode="numeric" autoComplete="one-time-code" />
      </Form>
    </Dialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const text = codes.join('\n');
  return (
    <Dialog title={account.recoveryTitle} onClose={onClose}>
      <p className="mb-3 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{account.recovery}</p>
      <ul className="grid grid-cols-2 gap-2 rounded-[8px] bg-sunken p-4 font-mono">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <CopyButton text={text} />
        <Button small icon="download" onClick={() => download('recovery-codes.txt', [`${text}\n`], 'text/plain')}>
          {account.downloadCodes}
        </Button>
        <Button small kind="primary" onClick={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  );
}
