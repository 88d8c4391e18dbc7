import { countries } from '../../../../server/platform/countries.ts';
import { changeField } from '../../api.ts';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import type { InvoiceSettings } from '../../types.ts';
import { SettingEntries } from './setting-entries.tsx';

type Rule = InvoiceSettings['business_rules'][number];

const save = (rules: readonly Rule[], key: string): Promise<InvoiceSettings> =>
  changeField('/dashboard/invoice_settings', 'business_rules', rules, key);

/** What business buyers in other countries mean for the tax. */
export function BusinessRules({ rules }: { readonly rules: readonly Rule[] }) {
  const canWrite = useCan('company:write');
  return (
    <>
      <p className="text-sm text-muted">{invoices.businessRulesText}</p>
      <SettingEntries
        label={invoices.businessRules}
        entries={rules}
        columns={[
          { header: invoices.countries, cell: ({ countries: codes }) => codes.join(', '), wraps: true },
          { header: invoices.exemption, cell: ({ category }) => invoices.exemptions[category] },
          { header: invoices.taxName, cell: ({ name }) => name, wide: true },
          { header: invoices.ruleText, cell: ({ text }) => text, wide: true, wraps: true },
        ]}
        titleOf={({ countries: codes }) => invoices.removeRuleTitle(codes.join(', '))}
        text={invoices.removeRuleText}
        save={save}
      />
      {canWrite && <NewRule rules={rules} />}
    </>
  );
}

const codesOf = (text: string): string[] =>
  text
    .toUpperCase()
    .split(/[\s,;]+/)
    .filter(Boolean);

const exemptionChoices = Object.entries(invoices.exemptions).map(([value, label]) => ({ value, label }));

const empty: Omit<Rule, 'countries'> & { readonly countries: string } = {
  countries: '',
  category: 'reverse_charge',
  name: '',
  text: '',
};

function NewRule({ rules }: { readonly rules: readonly Rule[] }) {
  const at = (name: keyof Rule): string => `business_rules[${rules.length}].${name}`;
  const form = useForm({
    initial: empty,
    check: ({ countries: text }) => {
      const codes = codesOf(text);
      const isValid = codes.length > 0 && codes.every((code) => countries.has(code));
      return { [at('countries')]: isValid ? undefined : invoices.countriesProblem };
    },
    send: (draft, key) => save([...rules, { ...draft, countries: codesOf(draft.countries) }], key),
    onDone: () => {
      toast(common.saved);
      form.set('countries', '');
    },
  });
  return (
    <Form form={form} submit={invoices.addRule}>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          form={form}
          name="countries"
          path={at('countries')}
          label={invoices.countries}
          hint={invoices.countriesHint}
          placeholder="AT, FR, NL"
        />
        <SelectField
          form={form}
          name="category"
          path={at('category')}
          label={invoices.exemption}
          choices={exemptionChoices}
        />
        <TextField form={form} name="name" path={at('name')} label={invoices.taxName} placeholder="VAT" />
        <TextField form={form} name="text" path={at('text')} label={invoices.ruleText} hint={invoices.ruleTextHint} />
      </div>
    </Form>
  );
}
