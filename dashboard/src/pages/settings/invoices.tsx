import { LinkButton } from '../../components/button.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { CheckField, NumberField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { editedFields } from '../../edits.ts';
import { useCan } from '../../session.ts';
import { branding } from '../../texts/branding.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import { settings as settingTexts } from '../../texts/settings.ts';
import type { InvoiceSettings } from '../../types.ts';
import { BusinessRules } from './business-rules.tsx';
import { TaxRates } from './tax-rates.tsx';

const path = '/dashboard/invoice_settings';

const draftOf = (settings?: InvoiceSettings) => ({
  enabled: settings?.enabled ?? false,
  legal_name: settings?.legal_name ?? '',
  invoice_prefix: settings?.invoice_prefix ?? '',
  credit_note_prefix: settings?.credit_note_prefix ?? '',
  with_year: settings?.with_year ?? true,
  padding: String(settings?.padding ?? ''),
  attach_to_emails: settings?.attach_to_emails ?? false,
});
type Draft = ReturnType<typeof draftOf>;

const fields = editedFields<Draft>({
  enabled: { label: invoices.enabled },
  legal_name: invoices.legalName,
  invoice_prefix: invoices.invoicePrefix,
  credit_note_prefix: invoices.creditNotePrefix,
  with_year: { label: invoices.withYear },
  padding: invoices.padding,
  attach_to_emails: { label: invoices.attach },
});

/** What the first number of a series looks like with this draft. */
function exampleOf({ invoice_prefix, with_year, padding }: Draft): string {
  const year = with_year ? `${new Date().getFullYear()}-` : '';
  return `${invoice_prefix}${year}${'1'.padStart(Math.min(12, Number(padding) || 1), '0')}`;
}

/** Whether payments get invoices, and how their numbers look. */
export function InvoiceSettingsPage() {
  const query = useGet<InvoiceSettings>(path);
  return (
    <Load query={query}>
      {(settings) => (
        <Page
          title={invoices.openSettings}
          lead={invoices.settingsText}
          back={{ to: '/settings', label: settingTexts.title }}
        >
          <Panel title={invoices.numbers}>
            <InvoicesForm settings={settings} />
          </Panel>
          <Panel title={invoices.rates}>
            <TaxRates rates={settings.tax_rates} />
          </Panel>
          <Panel title={invoices.businessRules}>
            <BusinessRules rules={settings.business_rules} />
          </Panel>
        </Page>
      )}
    </Load>
  );
}

function InvoicesForm({ settings }: { readonly settings: InvoiceSettings }) {
  const canWrite = useCan('company:write');
  const form = useEditForm({
    object: settings,
    path,
    draftOf,
    bodyOf: ({ legal_name, padding, ...draft }) => ({
      ...draft,
      legal_name: legal_name.trim() || null,
      padding: Number(padding),
    }),
    fields,
    onDone: () => toast(common.saved),
  });
  return (
    <>
      {settings.missing.length > 0 && (
        <div className="flex flex-wrap items-center gap-3">
          <p className="text-sm text-muted">{invoices.missing}</p>
          <LinkButton to="/settings/branding">{branding.open}</LinkButton>
        </div>
      )}
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <CheckField form={form} name="enabled" label={invoices.enabled} />
          <TextField form={form} name="legal_name" label={invoices.legalName} hint={invoices.legalNameHint} />
          <TextField form={form} name="invoice_prefix" label={invoices.invoicePrefix} hint={invoices.prefixHint} />
          <TextField form={form} name="credit_note_prefix" label={invoices.creditNotePrefix} />
          <CheckField form={form} name="with_year" label={invoices.withYear} hint={invoices.withYearHint} />
          <NumberField form={form} name="padding" label={invoices.padding} hint={invoices.paddingHint} max={12} />
          <CheckField form={form} name="attach_to_emails" label={invoices.attach} hint={invoices.attachHint} />
          <p className="text-sm text-muted">{invoices.next(exampleOf(form.draft))}</p>
        </Form>
      </fieldset>
      {!canWrite && <p className="mt-3 text-sm text-muted">{common.notAllowed}</p>}
    </>
  );
}
