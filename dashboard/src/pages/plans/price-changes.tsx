import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Load, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useGet } from '../../data.ts';
import { countText, shortId } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { priceChanges } from '../../texts/price-changes.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Plan, PriceChange } from '../../types.ts';

const pollMs = 2_000;
const tones = { in_progress: 'info', completed: 'good', paused: 'warn', undone: 'calm' } as const;

/** After the last renewal nothing can be undone. */
const isOver = ({ status, scheduled, waiting }: PriceChange): boolean =>
  status === 'undone' || (status === 'completed' && scheduled === 0 && waiting === 0);

function StatusBadge({ change }: { change: PriceChange }) {
  const label =
    change.status === 'completed' && isOver(change) ? priceChanges.finished : priceChanges.statuses[change.status];
  return <Badge status={change.status} label={label} tone={tones[change.status]} />;
}

/** The price changes of a plan. There is no panel if there are none. */
export function PriceChanges({ plan }: { plan: Plan }) {
  const [working, setWorking] = useState(false);
  const [open, setOpen] = useState<string>();
  const path = '/dashboard/price_changes';
  const list = useGet<{ data: PriceChange[] }>(path, { plan_id: plan.id }, working ? { everyMs: pollMs } : {}).data
    ?.data;
  const isWorking = list?.some((change) => change.working) ?? false;
  if (isWorking !== working) setWorking(isWorking);
  if (!list || list.length === 0) return null;
  return (
    <Panel title={priceChanges.panel}>
      <Table
        label={priceChanges.panel}
        rows={list}
        keyOf={({ id }) => id}
        onOpen={({ id }) => setOpen(id)}
        columns={[
          { header: priceChanges.toPlan, cell: ({ to_plan }) => to_plan.name, wraps: true },
          { header: common.status, cell: (change) => <StatusBadge change={change} /> },
          {
            header: priceChanges.progress,
            cell: ({ changed, scheduled, waiting }) =>
              `${countText(changed)} / ${countText(changed + scheduled + waiting)}`,
            end: true,
          },
          { header: common.created, cell: ({ created_at }) => <DateTime at={created_at} />, end: true, wide: true },
        ]}
      />
      {open && <Progress id={open} onClose={() => setOpen(undefined)} />}
    </Panel>
  );
}

type Control = 'pause' | 'resume' | 'undo';

const questions: Readonly<Record<Control, { title: string; text: string; done: string }>> = {
  pause: { title: `${priceChanges.pause}?`, text: priceChanges.pauseText, done: priceChanges.pauseDone },
  resume: { title: `${priceChanges.resume}?`, text: priceChanges.resumeText, done: priceChanges.resumeDone },
  undo: { title: priceChanges.undoTitle, text: priceChanges.undoText, done: priceChanges.undoDone },
};

function controlsOf(change: PriceChange): Control[] {
  if (isOver(change)) return [];
  return change.status === 'paused' ? ['resume', 'undo'] : ['pause', 'undo'];
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const [working, setWorking] = useState(true);
  const [asking, setAsking] = useState<Control>();
  const reason = useCan('subscriptions:write') ? undefined : common.notAllowed;
  const query = useGet<PriceChange>(`/dashboard/price_changes/${id}`, {}, working ? { everyMs: pollMs } : {});
  const isWorking = query.data?.working ?? true;
  if (isWorking !== working) setWorking(isWorking);
  const question = asking && questions[asking];
  return (
    <Dialog title={query.data ? priceChanges.to(query.data.to_plan.name) : priceChanges.panel} wide onClose={onClose}>
      <Load query={query} lines={4}>
        {(change) => (
          <div className="flex flex-col gap-4">
            <div aria-live="polite" className="flex flex-col gap-3">
              <p>
                <StatusBadge change={change} />
              </p>
              <Counts change={change} />
            </div>
            <Exceptions change={change} />
            <div className="flex flex-wrap justify-end gap-2">
              {controlsOf(change).map((control) => (
                <Button key={control} reason={reason} onClick={() => setAsking(control)}>
                  {priceChanges[control]}
                </Button>
              ))}
              <Button onClick={onClose}>{common.close}</Button>
            </div>
          </div>
        )}
      </Load>
      {asking && question && (
        <Confirm
          title={question.title}
          confirm={priceChanges[asking]}
          done={question.done}
          send={(key) => call('POST', `/dashboard/price_changes/${id}/${asking}`, { body: {}, key })}
          onDone={() => setWorking(true)}
          onClose={() => setAsking(undefined)}
        >
          {question.text}
        </Confirm>
      )}
    </Dialog>
  );
}

const countNames = ['changed', 'scheduled', 'waiting', 'left', 'undone', 'refused'] as const;

function Counts({ change }: { change: PriceChange }) {
  return (
    <dl className="flex flex-col gap-1 tabular-nums">
      {countNames
        .filter((name) => change[name] > 0 || name === 'changed' || name === 'scheduled')
        .map((name) => (
          <div key={name} className="flex justify-between gap-4">
            <dt className="text-muted">{priceChanges.counts[name]}</dt>
            <dd className="font-medium">{countText(change[name])}</dd>
          </div>
        ))}
    </dl>
  );
}

function Exceptions({ change: { exceptions, refused } }: { change: PriceChange }) {
  if (exceptions.length === 0) return null;
  return (
    <div className="max-h-72 overflow-y-auto">
      <Table
        label={priceChanges.exceptionsOf(exceptions.length, refused)}
        rows={exceptions}
        keyOf={({ subscription_id }) => subscription_id}
        columns={[
          {
            header: subscriptions.title,
            cell: ({ subscription_id: id }) => <TextLink to={`/subscriptions/${id}`}>{shortId(id)}</TextLink>,
          },
          { header: priceChanges.reason, cell: ({ reason }) => reason, wraps: true },
        ]}
      />
    </div>
  );
}
