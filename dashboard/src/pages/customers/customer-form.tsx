import { call } from '../../api.ts';
import { AddressField, addressDraft, addressOf, addressText } from '../../components/address.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { AreaField, FieldRow, TextField } from '../../components/fields.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { Form } from '../../components/form.tsx';
import { LanguageField, languageName } from '../../components/language-field.tsx';
import { metadataChange, metadataOf, metadataProblem, metadataText } from '../../components/metadata.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import type { Customer } from '../../types.ts';

interface CustomerFormProps {
  readonly customer?: Customer;
  readonly onClose: () => void;
  readonly onDone: (customer: Customer) => void;
}

const draftOf = (customer?: Customer) => ({
  email: customer?.email ?? '',
  first_name: customer?.first_name ?? '',
  last_name: customer?.last_name ?? '',
  phone: customer?.phone ?? '',
  company: customer?.company ?? '',
  tax_id: customer?.tax_id ?? '',
  locale: customer?.locale ?? '',
  tags: customer?.tags.join(', ') ?? '',
  metadata: metadataText(customer?.metadata ?? {}),
  shipping_address: addressDraft(customer?.shipping_address),
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = (draft: Draft) => ({
  email: draft.email.trim(),
  first_name: draft.first_name,
  last_name: draft.last_name,
  phone: draft.phone.replaceAll(/[\s()-]/g, ''),
  company: draft.company.trim() || null,
  tax_id: draft.tax_id.trim() || null,
  locale: draft.locale || null,
  tags: draft.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean),
  shipping_address: addressOf(draft.shipping_address),
  metadata: metadataOf(draft.metadata) ?? {},
});

const fields = editedFields<Draft>({
  email: customers.email,
  first_name: customers.firstName,
  last_name: customers.lastName,
  phone: customers.phone,
  company: customers.company,
  tax_id: customers.taxId,
  locale: {
    label: customers.language,
    show: ({ locale }) => (locale ? languageName(locale) : customers.noLanguage),
  },
  tags: customers.tags,
  metadata: common.metadata,
  shipping_address: {
    label: customers.shippingAddress,
    show: ({ shipping_address }) => addressText(shipping_address),
  },
});

export function CustomerForm({ customer, onClose, onDone }: CustomerFormProps) {
  const form = useEditForm({
    object: customer,
    path: `/v1/customers/${customer?.id}`,
    create: (body, key) => call<Customer>('POST', '/v1/customers', { body, key }),
    draftOf,
    bodyOf,
    requestOf: metadataChange,
    fields,
    check: ({ metadata }) => ({ metadata: metadataProblem(metadata) }),
    onDone: (saved) => {
      onClose();
      onDone(saved);
    },
  });
  return (
    <Dialog title={customer ? customers.edit : customers.add} onClose={onClose}>
      <Form form={form} submit={customer ? common.save : customers.add} onCancel={onClose}>
        <FieldRow>
          <TextField form={form} name="first_name" label={customers.firstName} />
          <TextField form={form} name="last_name" label={customers.lastName} />
        </FieldRow>
        <TextField form={form} name="email" label={customers.email} type="email" />
        <TextField form={form} name="phone" label={customers.phone} type="tel" hint={customers.phoneHint} />
        <FieldRow>
          <TextField form={form} name="company" label={customers.company} placeholder={common.optional} />
          <TextField form={form} name="tax_id" label={customers.taxId} placeholder={customers.taxIdPlaceholder} />
        </FieldRow>
        <LanguageField
          form={form}
          name="locale"
          label={customers.language}
          hint={customers.languageHint}
          none={customers.noLanguage}
        />
        <TextField form={form} name="tags" label={customers.tags} hint={customers.tagsHint} />
        <AddressField form={form} name="shipping_address" label={customers.shippingAddress} />
        <AreaField form={form} name="metadata" label={common.metadata} hint={common.metadataHint} />
      </Form>
    </Dialog>
  );
}
