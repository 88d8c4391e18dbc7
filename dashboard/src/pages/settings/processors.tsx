import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { SwitchToLive } from '../../components/company-switcher.tsx';
import { useAction } from '../../components/form.tsx';
import { Empty } from '../../components/empty.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { processors } from '../../texts/processors.ts';
import { rehearsal } from '../../texts/rehearsal.ts';
import { settings } from '../../texts/settings.ts';
import type { Connection, Connections } from '../../types.ts';
import { ConnectProcessor, KindCards } from './connect-processor.tsx';
import { ConnectedProcessor, type ConnectionAction, EarlierProcessor } from './connection.tsx';
import {
  Disconnect,
  EditRules,
  Reconnect,
  RemoveCredentials,
  Rename,
  ReplaceCredentials,
} from './connection-dialogs.tsx';
import type { Kind } from './credentials-form.tsx';

const back = { to: '/settings', label: settings.title };

export function ProcessorsPage() {
  const { company } = useSignedIn();
  return company.mode === 'sandbox' ? <SandboxProcessor /> : <ConnectedProcessors />;
}

function SandboxProcessor() {
  return (
    <Page title={processors.title} back={back}>
      <div className="panel">
        <Empty
          title={processors.sandboxTitle}
          actions={
            <>
              <LinkButton to="/sandbox/test-cards">{processors.testCards}</LinkButton>
              <LinkButton to="/settings/rehearsal">{rehearsal.title}</LinkButton>
              <SwitchToLive />
            </>
          }
        >
          <p>{processors.sandbox}</p>
          <p>{processors.toLive}</p>
        </Empty>
      </div>
    </Page>
  );
}

/** Which dialog is open. */
type Open =
  | { readonly action: 'connect'; readonly kinds: readonly Kind[] }
  | { readonly action: ConnectionAction; readonly connection: Connection };

function ConnectedProcessors() {
  const query = useGet<Connections>('/dashboard/processors', {}, { everyMs: lookEveryMs });
  const reason = useCan('company:write') ? undefined : common.notAllowed;
  const [open, setOpen] = useState<Open>();
  return (
    <Load query={query}>
      {({ connections, kinds }) => {
        const connected = connections.filter(({ status }) => status === 'connected');
        const earlier = connections.filter(({ status }) => status !== 'connected');
        const offer = (offered: readonly Kind[]) => setOpen({ action: 'connect', kinds: offered });
        return (
          <Page
            title={processors.title}
            lead={processors.lead}
            back={back}
            actions={
              connections.length > 0 &&
              kinds.length > 0 && (
                <Button kind="primary" icon="plus" reason={reason} onClick={() => offer(kinds)}>
                  {processors.connect}
                </Button>
              )
            }
          >
            {connections.length === 0 && (
              <NoProcessor kinds={kinds} reason={reason} onChoose={(kind) => offer([kind])} />
            )}
            {connections.length > 0 && connected.length === 0 && (
              <p role="status" className="mb-5 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">
                {processors.noneConnected}
              </p>
            )}
            <Ordered connected={connected} reason={reason} onOpen={setOpen} />
            {earlier.length > 0 && (
              <Panel title={processors.earlier}>
                <p className="mb-2 text-muted">{processors.earlierLead}</p>
                <ul className="divide-y divide-line">
                  {earlier.map((connection) => (
                    <EarlierProcessor
                      key={connection.id}
                      connection={connection}
                      reason={reason}
                      onAction={(action) => setOpen({ action, connection })}
                    />
                  ))}
                </ul>
              </Panel>
            )}
            {open && (
              <OpenDialog
                open={open}
                kinds={kinds}
                isLast={connected.length === 1}
                onOpen={setOpen}
                onClose={() => setOpen(undefined)}
              />
            )}
          </Page>
        );
      }}
    </Load>
  );
}

interface NoProcessorProps {
  readonly kinds: readonly Kind[];
  readonly reason: string | undefined;
  readonly onChoose: (kind: Kind) => void;
}

function NoProcessor({ kinds, reason, onChoose }: NoProcessorProps) {
  const isRehearsal = useSignedIn().company.mode === 'rehearsal';
  return (
    <div className="panel">
      <Empty title={isRehearsal ? rehearsal.connectTitle : processors.emptyTitle}>
        <p>{isRehearsal ? rehearsal.connect : processors.empty}</p>
        {kinds.length === 0 && <p>{processors.ask}</p>}
        <div className="text-ink">
          <KindCards kinds={kinds} reason={reason} onChoose={onChoose} />
        </div>
      </Empty>
    </div>
  );
}

interface OrderedProps {
  readonly connected: readonly Connection[];
  readonly reason: string | undefined;
  readonly onOpen: (open: Open) => void;
}

function Ordered({ connected, reason, onOpen }: OrderedProps) {
  const order = useAction<readonly string[], Connections>({
    send: (connection_ids, key) => call('POST', '/dashboard/processors/order', { body: { connection_ids }, key }),
    onDone: () => toast(processors.moved),
    tells: true,
  });
  function move(index: number, by: -1 | 1): void {
    const ids = connected.map(({ id }) => id);
    const [moved = ''] = ids.splice(index, 1);
    void order.run(ids.toSpliced(index + by, 0, moved));
  }
  return (
    <ol className="mb-5 grid gap-4">
      {connected.map((connection, index) => (
        <ConnectedProcessor
          key={connection.id}
          connection={connection}
          reason={reason}
          place={index + 1}
          count={connected.length}
          moving={order.busy}
          onMove={(by) => move(index, by)}
          onAction={(action) => onOpen({ action, connection })}
        />
      ))}
    </ol>
  );
}

interface OpenDialogProps {
  readonly open: Open;
  readonly kinds: readonly Kind[];
  readonly isLast: boolean;
  readonly onOpen: (open: Open) => void;
  readonly onClose: () => void;
}

function OpenDialog({ open, kinds, isLast, onOpen, onClose }: OpenDialogProps) {
  if (open.action === 'connect') {
    return (
      <ConnectProcessor
        kinds={open.kinds}
        onClose={onClose}
        onReplace={(connection) => onOpen({ action: 'credentials', connection })}
      />
    );
  }
  const { action, connection } = open;
  const kind = kinds.find((one) => one.kind === connection.kind);
  const dialogs: Readonly<Record<ConnectionAction, React.ReactNode>> = {
    rename: <Rename connection={connection} onClose={onClose} />,
    rules: <EditRules connection={connection} onClose={onClose} />,
    credentials: kind && <ReplaceCredentials connection={connection} kind={kind} onClose={onClose} />,
    disconnect: <Disconnect connection={connection} isLast={isLast} onClose={onClose} />,
    reconnect: <Reconnect connection={connection} onClose={onClose} />,
    remove: <RemoveCredentials connection={connection} onClose={onClose} />,
  };
  return dialogs[action];
}
