import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { changeField } from '../../api.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { SearchSelect } from '../../components/choice-field.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { Field, Select, SelectField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { Code } from '../../components/json-view.tsx';
import { Facts, Load, Page } from '../../components/page.tsx';
import { SandboxData } from '../../components/sample-data.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { words } from '../../format.ts';
import { sessionQuery, useCan } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { sampleData } from '../../texts/sample-data.ts';
import { invoices } from '../../texts/invoices.ts';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings } from '../../types.ts';
import { Authentication } from './authentication.tsx';
import { CardRules } from './card-rules.tsx';

export function SettingsPage() {
  const query = useGet<CompanySettings>('/dashboard/company');
  const canWrite = useCan('company:write');
  return (
    <Load query={query}>
      {(company) => (
        <Page title={settings.title} lead={settings.lead}>
          <Section title={settings.company} text={settings.companyText}>
            <CompanyForm company={company} canWrite={canWrite} />
          </Section>
          <Processors company={company} />
          <Section title={branding.open} text={branding.panelText}>
            <div>
              <LinkButton to="/settings/branding">{branding.open}</LinkButton>
            </div>
          </Section>
          <Section title={invoices.title} text={invoices.settingsText}>
            <div>
              <LinkButton to="/settings/invoices">{invoices.openSettings}</LinkButton>
            </div>
          </Section>
          <Section title={settings.dunning} text={settings.dunningText}>
            <Dunning company={company} canWrite={canWrite} />
          </Section>
          {company.mode !== 'sandbox' && (
            <Section title={settings.cardRules} text={settings.cardRulesText}>
              <CardRules company={company} canWrite={canWrite} />
            </Section>
          )}
          {company.mode === 'sandbox' && (
            <Section title={settings.authentication} text={settings.authenticationText}>
              <Authentication company={company} canWrite={canWrite} />
            </Section>
          )}
          <Section title={settings.cardFields} text={settings.cardFieldsText}>
            <Code label="HTML" text={`<script src="${location.origin}/svc.js"></script>`} />
          </Section>
          <Section title={settings.rateLimits} text={settings.rateLimitsText}>
            <Table
              label={settings.rateLimits}
              rows={company.rate_limits}
              keyOf={({ category }) => category}
              columns={[
                { header: settings.category, cell: ({ category }) => settings.categories[category] ?? words(category) },
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
          </Section>
          {company.mode === 'sandbox' && (
            <Section title={sampleData.title} text={sampleData.lead}>
              <SandboxData />
            </Section>
          )}
          <Section title={settings.danger} text={settings.dangerText} danger>
            <ApiVersion company={company} canWrite={canWrite} />
          </Section>
        </Page>
      )}
    </Load>
  );
}

interface SectionProps {
  readonly title: string;
  readonly text: string;
  readonly danger?: boolean;
  readonly children: ReactNode;
}

/** What it is about on the left, the settings on the right. */
function Section({ title, text, danger = false, children }: SectionProps) {
  return (
    <section className="grid gap-x-10 gap-y-4 border-t border-line py-7 first-of-type:border-t-0 first-of-type:pt-0 lg:grid-cols-[18rem_minmax(0,40rem)]">
      <div>
        <h2 className={`text-[15px] font-semibold ${danger ? 'text-bad' : ''}`}>{title}</h2>
        <p className="mt-1 text-muted">{text}</p>
      </div>
      <div className="flex min-w-0 flex-col gap-3">{children}</div>
    </section>
  );
}

function Processors({ company: { mode, processor } }: { readonly company: CompanySettings }) {
  const isSandbox = mode === 'sandbox';
  const text = processor ? settings.processorsText : settings.processorsNone;
  return (
    <Section title={settings.processors} text={isSandbox ? settings.processorsSandbox : text}>
      <div className="flex flex-wrap gap-2">
        {!isSandbox && (
          <LinkButton to="/settings/processors" kind={processor ? 'plain' : 'primary'}>
            {settings.manageProcessors}
          </LinkButton>
        )}
        {mode === 'live' && <LinkButton to="/settings/going-live">{settings.goingLive}</LinkButton>}
        <LinkButton to="/settings/rehearsal">{settings.rehearsal}</LinkButton>
      </div>
    </Section>
  );
}

interface PartProps {
  readonly company: CompanySettings;
  readonly canWrite: boolean;
}

const path = '/dashboard/company';

const companyDraft = (company?: CompanySettings) => ({
  name: company?.name ?? '',
  time_zone: company?.time_zone ?? '',
});
const companyFields = editedFields<ReturnType<typeof companyDraft>>({
  name: settings.name,
  time_zone: settings.timeZone,
});

const zonesWith = (current: string): { value: string; label: string }[] =>
  [...new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])]
    .toSorted()
    .map((value) => ({ value, label: value.replaceAll('_', ' ') }));

function CompanyForm({ company, canWrite }: PartProps) {
  const client = useQueryClient();
  const form = useEditForm({
    object: company,
    path,
    draftOf: companyDraft,
    bodyOf: (draft) => draft,
    fields: companyFields,
    onDone: () => {
      toast(common.saved);
      void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  });
  return (
    <>
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <TextField form={form} name="name" label={settings.name} />
          <SearchSelect
            label={settings.timeZone}
            hint={settings.timeZoneHint}
            error={form.errorOf('time_zone')}
            choices={zonesWith(company.time_zone)}
            value={form.draft.time_zone}
            onChange={(zone) => form.set('time_zone', zone)}
          />
          <Facts facts={[[settings.companyId, <CopyId key="id" id={company.id} whole />]]} />
        </Form>
      </fieldset>
      {!canWrite && <NotAllowed />}
    </>
  );
}

/** The version is changed after a question that says what changes. */
function ApiVersion({ company, canWrite }: PartProps) {
  const [chosen, setChosen] = useState(company.api_version);
  const [asking, setAsking] = useState(false);
  const differencesOf = (version: string): readonly string[] =>
    company.versions.find((one) => one.version === version)?.differences ?? [];
  // A version lists how it differs from the latest: what the other lists too stays as it is.
  const gone = differencesOf(company.api_version).filter((text) => !differencesOf(chosen).includes(text));
  const added = differencesOf(chosen).filter((text) => !differencesOf(company.api_version).includes(text));
  return (
    <>
      <Field label={settings.version} hint={settings.versionHint}>
        {(attributes) => (
          <div className="flex flex-wrap gap-2">
            <Select
              {...attributes}
              className="max-w-56"
              disabled={!canWrite}
              choices={company.versions.map(({ version }) => ({ value: version, label: version }))}
              value={chosen}
              onChange={({ target }) => setChosen(target.value)}
            />
            <Button
              disabled={chosen === company.api_version}
              reason={canWrite ? undefined : common.notAllowed}
              onClick={() => setAsking(true)}
            >
              {settings.changeVersion}
            </Button>
          </div>
        )}
      </Field>
      {asking && (
        <Confirm
          title={settings.changeVersionTitle(company.api_version, chosen)}
          confirm={settings.changeVersion}
          danger
          done={common.saved}
          send={(key) => changeField(path, 'api_version', chosen, key)}
          onClose={() => setAsking(false)}
        >
          <p>{settings.changeVersionText}</p>
          <ul className="mt-3 flex list-disc flex-col gap-1 pl-5">
            {added.map((text) => (
              <li key={text}>{text.replaceAll('`', '')}</li>
            ))}
            {gone.map((text) => (
              <li key={text}>{settings.noLonger(text.replaceAll('`', ''))}</li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  );
}

const daysOf = (text: string): number[] =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);

const dunningDraft = (company?: CompanySettings) => ({
  dunning_days: company?.dunning_days.join(', ') ?? '',
  after_dunning: company?.after_dunning ?? 'failed',
});
const dunningFields = editedFields<ReturnType<typeof dunningDraft>>({
  dunning_days: settings.dunningDays,
  after_dunning: { label: settings.after, choices: settings.afters },
});

function Dunning({ company, canWrite }: PartProps) {
  const form = useEditForm({
    object: company,
    path,
    draftOf: dunningDraft,
    bodyOf: ({ dunning_days, after_dunning }) => ({ dunning_days: daysOf(dunning_days), after_dunning }),
    fields: dunningFields,
    check: ({ dunning_days }) => ({
      dunning_days: daysOf(dunning_days).every(Number.isInteger) ? undefined : settings.dunningInvalid,
    }),
    onDone: () => toast(common.saved),
  });
  return (
    <>
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
    </>
  );
}

function NotAllowed() {
  return <p className="mt-3 text-sm text-muted">{common.notAllowed}</p>;
}
