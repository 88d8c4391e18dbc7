import { useEffect, useId, useState } from 'react';
import { call, changeField } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Menu, MenuItem, MenuLine } from '../../components/menu.tsx';
import { Facts } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { processors } from '../../texts/processors.ts';
import type { Connection } from '../../types.ts';
import { NoticeUrl } from './connect-processor.tsx';
import { ConnectionRehearsal } from './rehearsal.tsx';
import { TestOutcome, type TestResult } from './credentials-form.tsx';

export type ConnectionAction = 'rename' | 'rules' | 'credentials' | 'disconnect' | 'reconnect' | 'remove';

interface ConnectionProps {
  readonly connection: Connection;
  /** Why the user cannot change it. */
  readonly reason: string | undefined;
  readonly onAction: (action: ConnectionAction) => void;
}

interface ConnectedProps extends ConnectionProps {
  readonly place: number;
  readonly count: number;
  readonly moving: boolean;
  readonly onMove: (by: -1 | 1) => void;
}

/** A processor that takes new payments. */
export function ConnectedProcessor(props: ConnectedProps) {
  const { connection, reason, place, count, moving, onMove, onAction } = props;
  const { health, name } = connection;
  const isRehearsal = useSignedIn().company.mode === 'rehearsal';
  return (
    <li className="panel p-5">
      <header className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2">
        <span
          aria-label={processors.position(place, count)}
          role="img"
          className="flex size-8 shrink-0 items-center justify-center rounded-full bg-accent-soft font-semibold text-accent-ink"
        >
          {place}
        </span>
        <Heading connection={connection} />
        {connection.refused_at !== null ? (
          <Badge status="failed" label={processors.refused} />
        ) : connection.rejected_operation !== null ? (
          <Badge status="failed" label={processors.rejected[connection.rejected_operation]} />
        ) : connection.code_wanted_at !== null ? (
          <Badge status="failed" label={processors.codeWanted} />
        ) : (
          health.is_broken && <Badge status="failed" label={processors.broken} />
        )}
        <div className="ml-auto flex items-center gap-1">
          {count > 1 && (
            <>
              <IconButton
                label={processors.moveUp(name)}
                icon="up"
                disabled={place === 1 || moving || reason !== undefined}
                onClick={() => onMove(-1)}
              />
              <IconButton
                label={processors.moveDown(name)}
                icon="down"
                disabled={place === count || moving || reason !== undefined}
                onClick={() => onMove(1)}
              />
            </>
          )}
          <Actions connection={connection} reason={reason} onAction={onAction} />
        </div>
      </header>
      {connection.refused_at !== null && (
        <p className="mb-4 rounded-[8px] bg-bad-soft px-3 py-2 text-bad">
          {processors.refusedSince} <DateTime at={connection.refused_at} real />. {processors.refusedText(count === 1)}
          {connection.rejection !== null && ` ${connection.rejection}`}
        </p>
      )}
      {connection.refused_at === null && <Rejection connection={connection} isOnly={count === 1} />}
      {connection.code_wanted_at !== null && (
        <div className="mb-4 rounded-[8px] bg-bad-soft px-3 py-2 text-bad">
          <p>
            {processors.codeWantedSince} <DateTime at={connection.code_wanted_at} real />. {processors.codeWantedText}
          </p>
          {connection.code_request !== null && <p className="mt-1.5 font-medium">{connection.code_request}</p>}
        </div>
      )}
      {connection.unlinked_at !== null && (
        <p className="mb-4 rounded-[8px] bg-warn-soft px-3 py-2 text-warn">
          {processors.unlinkedSince} <DateTime at={connection.unlinked_at} real />. {processors.unlinkedText}
        </p>
      )}
      <Facts
        facts={[
          [processors.takes, rulesText(connection)],
          [
            processors.health,
            health.calls === 0 ? processors.noCalls : processors.calls(health.calls, health.failures),
          ],
          [processors.since, <DateTime key="since" at={connection.created_at} />],
          [processors.notices, <Notices key="notices" connection={connection} />],
        ]}
      />
      <LastCalls calls={health.last_calls} />
      <Verification connection={connection} reason={reason} />
      <StoredTest connection={connection} reason={reason} />
      {isRehearsal && <ConnectionRehearsal connection={connection} reason={reason} />}
    </li>
  );
}

/** What the processor rejects because of the account: payments, or what follows them. */
function Rejection({ connection, isOnly }: { readonly connection: Connection; readonly isOnly: boolean }) {
  const { rejected_at, rejected_operation: operation, rejection } = connection;
  if (operation === null) return null;
  const hasOther = operation === 'charge' && !isOnly;
  return (
    <div className="mb-4 rounded-[8px] bg-bad-soft px-3 py-2 text-bad">
      <p>
        {processors.rejectedSince[operation]} <DateTime at={rejected_at} real />.{' '}
        {hasOther ? processors.rejectedElsewhere : processors.rejectedText[operation]}
      </p>
      <p className="mt-1.5 font-medium">{rejection}</p>
    </div>
  );
}

/** What the processor answered lately. A reason never contains card data. */
function LastCalls({ calls }: { readonly calls: Connection['health']['last_calls'] }) {
  if (calls.length === 0) return null;
  return (
    <details className="mt-4 text-sm">
      <summary className="cursor-pointer text-muted">{processors.lastCalls}</summary>
      <ul className="mt-2 grid gap-1">
        {calls.map(({ at, outcome, reason }, index) => (
          // Calls have no id, and several may end in the same millisecond.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={`${at} ${index}`} className="flex flex-wrap gap-x-3">
            <DateTime at={at} />
            <span>{processors.outcomes[outcome] ?? outcome}</span>
            {reason && <span className="text-muted wrap-anywhere">{reason}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Earlier payments are still refunded and captured there. */
const isOfEarlierPayments = ({ rejected_operation: operation }: Connection): boolean =>
  operation === 'refund' || operation === 'void' || operation === 'capture';

/** A processor that takes no new payments. */
export function EarlierProcessor({ connection, reason, onAction }: ConnectionProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-5 py-3.5">
      <Heading connection={connection} />
      <span className="text-sm text-muted">
        {processors.until} <DateTime at={connection.disconnected_at} day />
      </span>
      {connection.status === 'disconnected' && (
        <div className="ml-auto">
          <Actions connection={connection} reason={reason} onAction={onAction} />
        </div>
      )}
      {connection.status === 'disconnected' && isOfEarlierPayments(connection) && (
        <div className="basis-full">
          <Rejection connection={connection} isOnly={false} />
        </div>
      )}
    </li>
  );
}

function Heading({ connection: { name, kind_name, status } }: { readonly connection: Connection }) {
  return (
    <>
      <h3 className="min-w-0 font-semibold wrap-anywhere">{name}</h3>
      {name !== kind_name && <span className="text-sm text-muted">{kind_name}</span>}
      <Badge status={status === 'connected' ? 'enabled' : status} label={processors.statuses[status]} />
    </>
  );
}

function Actions({ connection, reason, onAction }: ConnectionProps) {
  const item = (action: ConnectionAction, label: string, danger = false) => (
    <MenuItem reason={reason} danger={danger} onSelect={() => onAction(action)}>
      {label}
    </MenuItem>
  );
  return (
    <Menu trigger={<IconButton label={`${common.actions}: ${connection.name}`} icon="more" />}>
      {connection.status === 'connected' ? (
        <>
          {item('rules', processors.editRules)}
          {item('rename', processors.rename)}
          {item('credentials', processors.credentials)}
          <MenuLine />
          {item('disconnect', processors.disconnect, true)}
        </>
      ) : (
        <>
          {item('reconnect', processors.reconnect)}
          {item('credentials', processors.credentials)}
          <MenuLine />
          {item('remove', processors.remove, true)}
        </>
      )}
    </Menu>
  );
}

function rulesText({ rules: { currencies, brands, share } }: Connection): string {
  const parts = [
    currencies?.map((code) => code.toUpperCase()).join(', '),
    brands?.map((brand) => processors.brandNames[brand]).join(', '),
    share !== undefined && processors.takesShare(share),
  ].filter(Boolean);
  if (!currencies && !brands) parts.unshift(processors.takesAll);
  return parts.join(' · ');
}

function Notices({ connection }: { readonly connection: Connection }) {
  if (!connection.notice_url) return processors.noticesNone;
  return (
    <div className="flex flex-col gap-2">
      {connection.notice_seen_at ? (
        <span>
          {processors.noticeSeen} <DateTime at={connection.notice_seen_at} />
        </span>
      ) : (
        !connection.notice_refused_at && <span className="text-warn">{processors.noNotice}</span>
      )}
      {connection.notice_refused_at && (
        <span className="text-bad">
          {processors.noticeRefused} <DateTime at={connection.notice_refused_at} real />: {connection.notice_refusal}.{' '}
          {processors.noticeRefusedHint}
        </span>
      )}
      <NoticeUrl connection={connection} />
    </div>
  );
}

function Verification({ connection, reason }: Omit<ConnectionProps, 'onAction'>) {
  const id = useId();
  const { verifies_cards } = connection;
  // Shown at once, until the list is read again.
  const [wanted, setWanted] = useState<boolean>();
  useEffect(() => setWanted(undefined), [verifies_cards]);
  const action = useAction<boolean, Connection>({
    send: (on, key) => changeField(`/dashboard/processors/${connection.id}`, 'verifies_cards', on, key),
    onDone: (_result, on) => toast(on ? processors.verifiesOn : processors.verifiesOff),
    tells: true,
  });
  async function change(on: boolean): Promise<void> {
    setWanted(on);
    if (!(await action.run(on))) setWanted(undefined);
  }
  return (
    <div className="mt-4 flex items-start gap-2.5 border-t border-line pt-4">
      <input
        id={id}
        type="checkbox"
        className="mt-1 size-4"
        checked={wanted ?? verifies_cards}
        disabled={reason !== undefined}
        title={reason}
        aria-describedby={`${id}-hint`}
        onChange={(event) => void change(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{processors.verifies}</label>
        <p id={`${id}-hint`} className="max-w-2xl text-sm text-muted">
          {processors.verifiesHint}
        </p>
      </div>
    </div>
  );
}

function StoredTest({ connection, reason }: Omit<ConnectionProps, 'onAction'>) {
  const [result, setResult] = useState<TestResult>();
  const action = useAction<null, TestResult>({
    send: (_input, key) => call('POST', `/dashboard/processors/${connection.id}/test`, { body: {}, key }),
    onDone: setResult,
  });
  return (
    <div className="mt-4 flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button small busy={action.busy} reason={reason} onClick={() => void action.run(null)}>
          {processors.test}
        </Button>
        <span className="text-sm text-muted">{processors.testHint}</span>
      </div>
      {action.error && <ErrorNote error={action.error} />}
      <TestOutcome result={action.busy || action.error ? undefined : result} />
    </div>
  );
}
