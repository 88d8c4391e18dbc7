import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { TextField } from '../../components/fields.tsx';
import { ErrorNote, Form, useAction, useForm } from '../../components/form.tsx';
import { Empty } from '../../components/empty.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useGet } from '../../data.ts';
import { dateTime, duration, money } from '../../format.ts';
import { pageOfFound } from '../../navigation.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { sandbox } from '../../texts/sandbox.ts';
import type { Clock, ClockAdvance, ClockAdvanced } from '../../types.ts';

const steps = {
  hour: { hours: 1 },
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  year: { months: 12 },
} as const;

/** The API returns amounts in the smallest unit, `1900 usd`, which people would read as dollars. */
const withMoney = (summary: string): string =>
  summary.replace(/\b(\d+) ([a-z]{3})\b/, (_text, cents: string, currency: string) => money(Number(cents), currency));

function pageOf({ type, object_id }: ClockAdvanced['happened'][number]): string | null {
  const [kind] = type.split('.');
  if (kind === 'webhook') return `/developers/webhooks/${object_id}`;
  return kind === 'order' || kind === 'subscription' || kind === 'customer' ? pageOfFound[kind](object_id) : null;
}

export function ClockPage() {
  const { company } = useSignedIn();
  if (company.mode === 'live') {
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
  const [result, setResult] = useState<ClockAdvanced>();
  const reason = useCan('subscriptions:write') ? undefined : common.notAllowed;
  const advance = useAction<ClockAdvance, ClockAdvanced>({
    send: (body, key) => call('POST', '/v1/sandbox/clock/advance', { body, key }),
    onDone: setResult,
  });
  const form = useForm({
    initial: { to: '' },
    forgettable: true,
    check: ({ to }) => ({ to: to === '' ? common.required : undefined }),
    send: ({ to }, key) => call<ClockAdvanced>('POST', '/v1/sandbox/clock/advance', { body: { to: `${to}:00Z` }, key }),
    onDone: setResult,
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
        {!result || result.happened.length === 0 ? (
          <p className="py-2 text-muted">{result ? sandbox.nothingHappened : sandbox.notYet}</p>
        ) : (
          <Table
            label={sandbox.happened}
            rows={result.happened.map((entry, index) => ({ ...entry, key: String(index) }))}
            keyOf={({ key }) => key}
            link={pageOf}
            columns={[
              { header: common.date, cell: ({ at }) => <DateTime at={at} /> },
              {
                header: common.type,
                cell: ({ type }) => <span className="font-mono text-[13px]">{type}</span>,
                wide: true,
              },
              { header: common.description, cell: ({ summary }) => withMoney(summary) },
              { header: sandbox.object, cell: ({ object_id }) => <CopyId id={object_id} />, wide: true },
            ]}
          />
        )}
      </Panel>
    </Page>
  );
}
