import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { kindTexts, processors } from '../../texts/processors.ts';
import type { Connection } from '../../types.ts';
import { CredentialsForm, type Kind } from './credentials-form.tsx';

interface ConnectProps {
  readonly kinds: readonly Kind[];
  readonly onClose: () => void;
  readonly onReplace: (connection: Connection) => void;
}

/** Choose a kind, enter its credentials, then enter the notice URL at the processor. */
export function ConnectProcessor({ kinds, onClose, onReplace }: ConnectProps) {
  const [kind, setKind] = useState<Kind | undefined>(kinds.length === 1 ? kinds[0] : undefined);
  const [connected, setConnected] = useState<Connection>();
  function done(connection: Connection): void {
    toast(processors.connected);
    if (connection.notice_url) setConnected(connection);
    else onClose();
  }
  if (connected) return <EnterNoticeUrl connection={connected} onClose={onClose} onReplace={onReplace} />;
  if (!kind) {
    return (
      <Dialog title={processors.chooseKind} onClose={onClose}>
        <KindCards kinds={kinds} onChoose={setKind} />
      </Dialog>
    );
  }
  return (
    <Dialog key={kind.kind} title={processors.connectKind(kind.name)} onClose={onClose}>
      {kinds.length > 1 && (
        <p className="mb-4">
          <Button small kind="quiet" icon="left" onClick={() => setKind(undefined)}>
            {processors.back}
          </Button>
        </p>
      )}
      <CredentialsForm
        kind={kind}
        submit={processors.connectNow}
        name={kind.name}
        send={(body, key) =>
          call<Connection>('POST', '/dashboard/processors', { body: { kind: kind.kind, ...body }, key })
        }
        onDone={done}
        onCancel={onClose}
      />
    </Dialog>
  );
}

export function KindCards({
  kinds,
  onChoose,
  reason,
}: {
  readonly kinds: readonly Kind[];
  readonly onChoose: (kind: Kind) => void;
  readonly reason?: string | undefined;
}) {
  return (
    <ul className="grid gap-3">
      {kinds.map((kind) => (
        <li key={kind.kind}>
          <button
            type="button"
            aria-disabled={reason !== undefined || undefined}
            title={reason}
            onClick={() => reason === undefined && onChoose(kind)}
            className="flex w-full items-center gap-3 rounded-[8px] border border-line p-3.5 text-left hover:border-line-strong aria-disabled:cursor-not-allowed aria-disabled:opacity-60"
          >
            <span className="min-w-0 grow">
              <span className="block font-medium">{kind.name}</span>
              <span className="block text-sm text-muted">{kindTexts(kind.kind).for}</span>
            </span>
            <Icon name="right" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function EnterNoticeUrl({
  connection,
  onClose,
  onReplace,
}: {
  readonly connection: Connection;
  readonly onClose: () => void;
  readonly onReplace: (connection: Connection) => void;
}) {
  return (
    <Dialog key="notices" title={processors.connectedTitle(connection.name)} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p>{processors.connectedText}</p>
        <NoticeUrl connection={connection} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => onReplace(connection)}>{processors.credentials}</Button>
          <Button kind="primary" onClick={onClose}>
            {common.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

export function NoticeUrl({ connection }: { readonly connection: Connection }) {
  if (!connection.notice_url) return null;
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2 rounded-[8px] border border-line bg-sunken px-3 py-2">
        <code data-testid="notice-url" className="min-w-0 grow font-mono text-[13px] break-all">
          {connection.notice_url}
        </code>
        <CopyButton text={connection.notice_url} label={processors.copyUrl} />
      </div>
      <p className="mt-1.5 text-sm text-muted">{kindTexts(connection.kind).notices}</p>
    </div>
  );
}
