import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { navigate } from '../../routing.tsx';
import { companyTag, useCan, useKeepSession, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { rehearsal as texts } from '../../texts/rehearsal.ts';
import { settings } from '../../texts/settings.ts';
import type { Company, Connection, Rehearsal, Session } from '../../types.ts';

/** The rehearsal company, and the rehearsals of its connections. */

export function RehearsalPage() {
  const { company } = useSignedIn();
  const isHere = company.mode === 'rehearsal';
  return (
    <Page title={texts.title} lead={texts.lead} back={{ to: '/settings', label: settings.title }}>
      <Panel>
        <p className="mb-4 max-w-2xl text-muted">{texts.about}</p>
        {isHere ? (
          <>
            <p className="mb-4">{texts.isHere}</p>
            <LinkButton to="/settings/processors">{texts.processors}</LinkButton>
          </>
        ) : (
          <OpenRehearsal />
        )}
      </Panel>
    </Page>
  );
}

/** Creates the rehearsal company when it is first needed, and opens its processors. */
function OpenRehearsal() {
  const keep = useKeepSession();
  const reason = useCan('company:write') ? undefined : common.notAllowed;
  const action = useAction<null, Company | undefined>({
    send: async (_input, key) => {
      const { id } = await call<{ id: string }>('POST', '/dashboard/rehearsal_company', { body: {}, key });
      const session = await call<Session>('GET', '/dashboard/session');
      keep(session);
      return session.companies.find((company) => company.id === id);
    },
    onDone: (company) => {
      if (company) void navigate({ to: '/settings/processors', search: { company: companyTag(company) } });
    },
  });
  return (
    <>
      <Button kind="primary" busy={action.busy} reason={reason} onClick={() => void action.run(null)}>
        {texts.open}
      </Button>
      {action.error && <ErrorNote error={action.error} />}
    </>
  );
}

const lookEveryMs = 1_000;

interface ConnectionRehearsalProps {
  readonly connection: Connection;
  readonly reason: string | undefined;
}

/** The last rehearsal of a connection, and a new one. */
export function ConnectionRehearsal({ connection, reason }: ConnectionRehearsalProps) {
  const query = useGet<{ data: readonly Rehearsal[] }>('/dashboard/rehearsals', {}, { everyMs: lookEveryMs });
  const last = query.data?.data.find(({ connection_id }) => connection_id === connection.id);
  const action = useAction<null, Rehearsal>({
    send: (_input, key) => call('POST', `/dashboard/processors/${connection.id}/rehearse`, { body: {}, key }),
    onDone: () => toast(texts.started),
  });
  const isRunning = last?.state === 'running';
  return (
    <section aria-label={texts.title} className="mt-4 flex flex-col gap-3 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button small busy={action.busy || isRunning} reason={reason} onClick={() => void action.run(null)}>
          {last ? texts.again : texts.start}
        </Button>
        <span className="text-sm text-muted">{texts.hint}</span>
      </div>
      {action.error && <ErrorNote error={action.error} />}
      {query.data && (last ? <Result rehearsal={last} /> : <p className="text-sm text-muted">{texts.none}</p>)}
    </section>
  );
}

const badges = { running: 'in_progress', passed: 'succeeded', failed: 'failed' } as const;
const resultBadges = { right: 'succeeded', wrong: 'failed', skipped: 'skipped' } as const;
const stepCount = Object.keys(texts.steps).length;

function Result({ rehearsal: { state, steps, current, started_at, ended_at } }: { readonly rehearsal: Rehearsal }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-2" role="status">
        <span>{texts.last}</span>
        <DateTime at={ended_at ?? started_at} real />
        <Badge status={badges[state]} label={texts.states[state]} />
        {current && (
          <span className="text-sm text-muted">{texts.running(texts.steps[current], steps.length, stepCount)}</span>
        )}
      </p>
      {steps.length > 0 && (
        <Table
          label={texts.table}
          rows={steps}
          keyOf={({ step }) => step}
          columns={[
            {
              header: texts.step,
              cell: ({ step, result }) => (
                <span className="flex flex-col items-start gap-1">
                  {texts.steps[step]}
                  <Badge status={resultBadges[result]} label={texts.results[result]} />
                </span>
              ),
            },
            { header: texts.sent, wraps: true, wide: true, cell: ({ sent }) => sent },
            {
              header: texts.answered,
              wraps: true,
              cell: ({ answered, advice, result }) => (
                <>
                  {answered}
                  {advice && (
                    <p className={`mt-1 text-sm ${result === 'wrong' ? 'text-bad' : 'text-muted'}`}>{advice}</p>
                  )}
                </>
              ),
            },
            { header: texts.expected, wraps: true, wide: true, cell: ({ expected }) => expected },
          ]}
        />
      )}
    </>
  );
}
