import { useRef, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/fields.tsx';
import { ErrorNote, Form, useAction, useForm } from '../../components/form.tsx';
import { Empty } from '../../components/empty.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { useGet } from '../../data.ts';
import { dateTime, duration } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { sandbox } from '../../texts/sandbox.ts';
import type { Clock, ClockAdvance, ClockAdvanced } from '../../types.ts';
import { SandboxTimeline } from './sandbox-timeline.tsx';

const steps = {
  hour: { hours: 1 },
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  year: { months: 12 },
} as const;

export function ClockPage() {
  const { company } = useSignedIn();
  if (company.mode !== 'sandbox') {
    return (
      <Page title={sandbox.clockTitle}>
        <Empty title={sandbox.onlySandbox}>{sandbox.onlySandboxText}</Empty>
      </Page>
    );
  }
  return <SandboxClock />;
}

function SandboxClock() {
  const query = useGet<Clock>('/v1/sandbox/clock');
  const canSee = useCan('events:read');
  const [from, setFrom] = useState<string>();
  // What happened since before the last advance.
  const before = useRef<string>(undefined);
  const onDone = () => setFrom(before.current);
  const reason = useCan('subscriptions:write') ? undefined : common.notAllowed;
  function advanceFrom(body: ClockAdvance, key: string): Promise<ClockAdvanced> {
    before.current = query.data?.now;
    return call('POST', '/v1/sandbox/clock/advance', { body, key });
  }
  const advance = useAction<ClockAdvance, ClockAdvanced>({
    send: (body, key) => advanceFrom(body, key),
    onDone,
  });
  const form = useForm({
    initial: { to: '' },
    forgettable: true,
    check: ({ to }) => ({ to: to === '' ? common.required : undefined }),
    send: ({ to }, key) => advanceFrom({ to: `${to}:00Z` }, key),
    onDone,
  });
  return (
    <Page title={sandbox.clockTitle} lead={sandbox.clockLead}>
      <div className="grid items-start gap-x-10 lg:grid-cols-2">
        <Panel title={sandbox.now}>
          <Load query={query} lines={2}>
            {({ now, offset_seconds }) => (
              <>
                <p className="text-3xl font-semibold tracking-tight tabular-nums">{dateTime(now)} UTC</p>
                <p className="mt-1 text-muted">
                  {offset_seconds < 1 ? sandbox.realTime : sandbox.ahead(duration(offset_seconds))}
                </p>
              </>
            )}
          </Load>
        </Panel>
        <Panel title={sandbox.quick}>
          <div className="mb-5 flex flex-wrap gap-2">
            {(Object.keys(steps) as (keyof typeof steps)[]).map((step) => (
              <Button
                key={step}
                reason={reason}
                disabled={advance.busy}
                onClick={() => void advance.run({ by: steps[step] })}
              >
                {sandbox.steps[step]}
              </Button>
            ))}
          </div>
          {reason === undefined && (
            <Form form={form} submit={sandbox.go}>
              <TextField form={form} name="to" label={sandbox.to} type="datetime-local" />
            </Form>
          )}
        </Panel>
      </div>
      <div role="status" className="mb-4">
        {(advance.busy || form.busy) && (
          <div className="flex items-center gap-3">
            <progress aria-label={sandbox.working} className="accent-accent" />
            {sandbox.working}
          </div>
        )}
        {advance.error && <ErrorNote error={advance.error} />}
      </div>
      <Panel title={sandbox.happened}>
        {canSee ? <SandboxTimeline from={from} /> : <p className="text-muted">{common.notAllowed}</p>}
      </Panel>
    </Page>
  );
}
