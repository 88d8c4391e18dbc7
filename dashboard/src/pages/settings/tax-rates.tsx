import { readPercentage } from '../../amounts.ts';
import { changeField } from '../../api.ts';
import { CountrySelect } from '../../components/choice-field.tsx';
import { TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import type { InvoiceSettings } from '../../types.ts';
import { SettingEntries } from './setting-entries.tsx';

type Rate = InvoiceSettings['tax_rates'][number];

const path = '/dashboard/invoice_settings';
/** Without a percentage, the service says what is missing. */
type TypedRate = Omit<Rate, 'percentage'> & { readonly percentage: number | undefined };

const save = (rates: readonly TypedRate[], key: string): Promise<InvoiceSettings> =>
  changeField(path, 'tax_rates', rates, key);

/** The rates of included tax. A request replaces all of them. */
export function TaxRates({ rates }: { readonly rates: readonly Rate[] }) {
  const canWrite = useCan('company:write');
  return (
    <>
      <p className="text-sm text-muted">{invoices.ratesText}</p>
      <SettingEntries
        label={invoices.rates}
        entries={rates}
        columns={[
          { header: invoices.rate, cell: ({ name, percentage }) => `${name} ${percentage}%` },
          { header: invoices.place, cell: ({ country, region }) => [country, region].filter(Boolean).join(' · ') },
          { header: invoices.category, cell: ({ category }) => category ?? invoices.anyCategory, wide: true },
          {
            header: invoices.validity,
            cell: ({ valid_from, valid_until }) => invoices.days(valid_from, valid_until),
            wide: true,
          },
        ]}
        titleOf={({ name, percentage }) => invoices.removeRateTitle(name, percentage)}
        text={invoices.removeRateText}
        save={save}
      />
      {canWrite && <NewRate rates={rates} />}
    </>
  );
}

const empty = { country: '', region: '', category: '', name: '', percentage: '', valid_from: '', valid_until: '' };

function NewRate({ rates }: { readonly rates: readonly Rate[] }) {
  const at = (name: keyof typeof empty): string => `tax_rates[${rates.length}].${name}`;
  const form = useForm({
    initial: empty,
    check: ({ percentage }) => ({
      [at('percentage')]: percentage === '' ? undefined : readPercentage(percentage, 0).problem,
    }),
    send: (draft, key) => {
      const optional = (text: string): string | null => text.trim() || null;
      const rate = {
        country: draft.country,
        name: draft.name,
        percentage: readPercentage(draft.percentage, 0).amount,
        valid_from: draft.valid_from,
        region: optional(draft.region),
        category: optional(draft.category),
        valid_until: optional(draft.valid_until),
      };
      return save([...rates, rate], key);
    },
    onDone: () => {
      toast(common.saved);
      for (const name of ['region', 'category', 'percentage'] as const) form.set(name, '');
    },
  });
  return (
    <Form form={form} submit={invoices.addRate}>
      <div className="grid gap-4 sm:grid-cols-2">
        <CountrySelect
          label={invoices.country}
          error={form.errorOf(at('country'))}
          value={form.draft.country}
          onChange={(country) => form.set('country', country)}
        />
        <TextField form={form} name="region" path={at('region')} label={invoices.region} hint={invoices.regionHint} />
        <TextField form={form} name="name" path={at('name')} label={invoices.taxName} placeholder="VAT" />
        <TextField
          form={form}
          name="percentage"
          path={at('percentage')}
          label={invoices.percentage}
          inputMode="decimal"
        />
        <TextField
          form={form}
          name="category"
          path={at('category')}
          label={invoices.category}
          hint={invoices.categoryHint}
        />
        <TextField form={form} name="valid_from" path={at('valid_from')} type="date" label={invoices.validFrom} />
        <TextField form={form} name="valid_until" path={at('valid_until')} type="date" label={invoices.validUntil} />
      </div>
    </Form>
  );
}
