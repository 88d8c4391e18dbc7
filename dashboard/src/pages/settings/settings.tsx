import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { LinkButton } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Code } from '../../components/json-view.tsx';
import { CopyId } from '../../components/copy.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { words } from '../../format.ts';
import { sessionQuery, useCan } from '../../session.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings } from '../../types.ts';

export function SettingsPage() {
  const query = useGet<CompanySettings>('/dashboard/company');
  const canWrite = useCan('company:write');
  return (
    <Load query={query}>
      {(company) => (
        <Page title={settings.title} lead={settings.lead}>
          <div className="grid items-start gap-x-10 lg:grid-cols-2">
            <div className="min-w-0">
              <CompanyForm company={company} canWrite={canWrite} />
              <Processors company={company} />
              <Panel title={branding.open}>
                <p className="mb-3 text-muted">{branding.panelText}</p>
                <LinkButton to="/settings/branding">{branding.open}</LinkButton>
              </Panel>
            </div>
            <div className="min-w-0">
              <Dunning company={company} canWrite={canWrite} />
              <Panel title={settings.rateLimits} flush>
                <Table
                  label={settings.rateLimits}
                  rows={company.rate_limits}
                  keyOf={({ category }) => category}
                  columns={[
                    { header: settings.category, cell: ({ category }) => words(category) },
                    {
                      header: settings.limit,
                      end: true,
                      cell: ({ count, window_seconds }) =>
                        count === null || window_seconds === null
                          ? settings.off
                          : settings.limitText(count, window_seconds),
                    },
                  ]}
                />
              </Panel>
              <Panel title={settings.cardFields}>
                <p className="mb-3 text-muted">{settings.cardFieldsText}</p>
                <Code label="HTML" text={`<script src="${location.origin}/svc.js"></script>`} />
              </Panel>
            </div>
          </div>
        </Page>
      )}
    </Load>
  );
}

function Processors({ company: { mode, processor } }: { readonly company: CompanySettings }) {
  const live = mode === 'live';
  const text = processor ? settings.processorsText : settings.processorsNone;
  return (
    <Panel title={settings.processors}>
      <p className="mb-3 text-muted">{live ? text : settings.processorsSandbox}</p>
      {live && (
        <div className="flex flex-wrap gap-2">
          <LinkButton to="/settings/processors" kind={processor ? 'plain' : 'primary'}>
            {settings.manageProcessors}
          </LinkButton>
          <LinkButton to="/settings/going-live">{settings.goingLive}</LinkButton>
        </div>
      )}
    </Panel>
  );
}

interface PartProps {
  readonly company: CompanySettings;
  readonly canWrite: boolean;
}

function useSave(): (body: object, key: string) => Promise<CompanySettings> {
  return (body, key) => call('PATCH', '/dashboard/company', { body, key });
}

const zonesWith = (current: string): string[] =>
  [...new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])].toSorted();

function CompanyForm({ company, canWrite }: PartProps) {
  const save = useSave();
  const client = useQueryClient();
  const form = useForm({
    initial: { name: company.name, time_zone: company.time_zone, api_version: company.api_version },
    send: (body, key) => save(body, key),
    onDone: () => {
      toast(common.saved);
      void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  });
  return (
    <Panel title={settings.company}>
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <TextField form={form} name="name" label={settings.name} />
          <SelectField
            form={form}
            name="time_zone"
            label={settings.timeZone}
            hint={settings.timeZoneHint}
            choices={zonesWith(company.time_zone).map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
          />
          <SelectField
            form={form}
            name="api_version"
            label={settings.version}
            hint={settings.versionHint}
            choices={company.supported_versions.map((value) => ({ value, label: value }))}
          />
          <p>
            <CopyId id={company.id} whole />
          </p>
        </Form>
      </fieldset>
      {!canWrite && <NotAllowed />}
    </Panel>
  );
}

const daysOf = (text: string): number[] =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);

function Dunning({ company, canWrite }: PartProps) {
  const save = useSave();
  const form = useForm({
    initial: { dunning_days: company.dunning_days.join(', '), after_dunning: company.after_dunning },
    check: ({ dunning_days }) => ({
      dunning_days: daysOf(dunning_days).every(Number.isInteger) ? undefined : settings.dunningInvalid,
    }),
    send: ({ dunning_days, after_dunning }, key) => save({ dunning_days: daysOf(dunning_days), after_dunning }, key),
    onDone: () => toast(common.saved),
  });
  return (
    <Panel title={settings.dunning}>
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <TextField form={form} name="dunning_days" label={settings.dunningDays} hint={settings.dunningHint} />
          <SelectField
            form={form}
            name="after_dunning"
            label={settings.after}
            choices={Object.entries(settings.afters).map(([value, label]) => ({ value, label }))}
          />
        </Form>
      </fieldset>
      {!canWrite && <NotAllowed />}
    </Panel>
  );
}

function NotAllowed() {
  return <p className="mt-3 text-sm text-muted">{common.notAllowed}</p>;
}
