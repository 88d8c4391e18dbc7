import { call } from '../../api.ts';
import { addressChange, AddressField, addressDraft } from '../../components/address.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { AreaField, FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { metadataOf, metadataProblem, metadataText } from '../../components/metadata.tsx';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import type { Customer } from '../../types.ts';

interface CustomerFormProps {
  readonly customer?: Customer;
  readonly onClose: () => void;
  readonly onDone: (customer: Customer) => void;
}

export function CustomerForm({ customer, onClose, onDone }: CustomerFormProps) {
  const form = useForm({
    initial: {
      email: customer?.email ?? '',
      first_name: customer?.first_name ?? '',
      last_name: customer?.last_name ?? '',
      phone: customer?.phone ?? '',
      company: customer?.company ?? '',
      tags: customer?.tags.join(', ') ?? '',
      metadata: metadataText(customer?.metadata ?? {}),
      shipping_address: addressDraft(customer?.shipping_address),
    },
    check: ({ metadata }) => ({ metadata: metadataProblem(metadata) }),
    send: (draft, key) => {
      const metadata = metadataOf(draft.metadata) ?? {};
      // To remove a key, send it as null.
      const removed = Object.keys(customer?.metadata ?? {}).filter((name) => !(name in metadata));
      const body = {
        email: draft.email.trim(),
        first_name: draft.first_name,
        last_name: draft.last_name,
        phone: draft.phone.replaceAll(/[\s()-]/g, ''),
        company: draft.company.trim() || null,
        tags: draft.tags
          .split(',')
          .map((tag) => tag.trim())
          .filter(Boolean),
        ...addressChange('shipping_address', draft.shipping_address, customer?.shipping_address),
        metadata: { ...Object.fromEntries(removed.map((name) => [name, null])), ...metadata },
      };
      return customer
        ? call<Customer>('PATCH', `/v1/customers/${customer.id}`, { body, key })
        : call<Customer>('POST', '/v1/customers', { body, key });
    },
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
        <FieldRow>
          <TextField form={form} name="phone" label={customers.phone} type="tel" hint={customers.phoneHint} />
          <TextField form={form} name="company" label={customers.company} placeholder={common.optional} />
        </FieldRow>
        <TextField form={form} name="tags" label={customers.tags} hint={customers.tagsHint} />
        <AddressField form={form} name="shipping_address" label={customers.shippingAddress} />
        <AreaField form={form} name="metadata" label={common.metadata} hint={common.metadataHint} />
      </Form>
    </Dialog>
  );
}
