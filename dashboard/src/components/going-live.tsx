import { useState } from 'react';
import { useGet } from '../data.ts';
import { useCan } from '../session.ts';
import { common } from '../texts/common.ts';
import { goingLive } from '../texts/going-live.ts';
import type { GoingLive } from '../types.ts';
import { Button, LinkButton } from './button.tsx';
import { CopyFromSandbox } from './copy-from-sandbox.tsx';
import { Icon } from './icons.tsx';
import { Load, Panel } from './page.tsx';
import { Link } from '../routing.tsx';

const path = '/dashboard/going_live';

const pages: Readonly<Record<GoingLive['steps'][number]['step'], string>> = {
  rehearsal: '/settings/rehearsal',
  processor: '/settings/processors',
  notices: '/settings/processors',
  api_keys: '/developers/api-keys',
  webhooks: '/developers/webhooks',
  charge: '/orders/new',
};

/** On the home page of a live company, until everything is done. */
export function GoingLiveNotice() {
  const { data } = useGet<GoingLive>(path);
  if (!data || data.is_complete) return null;
  return (
    <Panel
      title={goingLive.title}
      actions={
        <LinkButton small to="/settings/going-live">
          {goingLive.open}
        </LinkButton>
      }
    >
      <Steps progress={data} />
    </Panel>
  );
}

/** The whole checklist, and what helps with it. */
export function GoingLiveChecklist() {
  const query = useGet<GoingLive>(path);
  const [copying, setCopying] = useState(false);
  const reason = useCan('company:write') ? undefined : common.notAllowed;
  return (
    <>
      <Load query={query}>
        {(progress) => (
          <Panel>
            <Steps progress={progress} />
          </Panel>
        )}
      </Load>
      <Panel title={goingLive.copyTitle}>
        <p className="mb-3 text-muted">{goingLive.copyLead}</p>
        <Button reason={reason} icon="copy" onClick={() => setCopying(true)}>
          {goingLive.copy}
        </Button>
      </Panel>
      {copying && <CopyFromSandbox onClose={() => setCopying(false)} />}
    </>
  );
}

function Steps({ progress: { steps, is_complete } }: { readonly progress: GoingLive }) {
  const done = steps.filter(({ is_done }) => is_done).length;
  return (
    <>
      <p className="mb-3 text-muted">
        {is_complete ? goingLive.complete : `${goingLive.lead} ${goingLive.progress(done, steps.length)}.`}
      </p>
      <ol className="grid gap-3 md:grid-cols-2">
        {steps.map(({ step, is_done }, index) => (
          <li key={step}>
            <Link
              to={pages[step]}
              className="flex h-full items-center gap-3.5 rounded-[8px] border border-line p-3.5 hover:border-line-strong"
            >
              <span
                className={`flex size-8 shrink-0 items-center justify-center rounded-full font-semibold ${is_done ? 'bg-good-soft text-good' : 'bg-accent-soft text-accent-ink'}`}
              >
                {is_done ? <Icon name="check" /> : index + 1}
                <span className="sr-only">{is_done ? goingLive.done : goingLive.notDone}</span>
              </span>
              <span>
                <span className={`block font-medium ${is_done ? 'line-through' : ''}`}>{goingLive.steps[step][0]}</span>
                <span className="block text-sm text-muted">{goingLive.steps[step][1]}</span>
              </span>
            </Link>
          </li>
        ))}
      </ol>
    </>
  );
}
