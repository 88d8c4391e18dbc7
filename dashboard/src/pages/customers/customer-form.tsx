import { call } from '../../api.ts';
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

const addressParts = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'] as const;
type AddressDraft = Record<(typeof addressParts)[number], string>;

function addressDraft(customer: Customer | undefined): AddressDraft {
  const address = customer?.shipping_address;
  return Object.fromEntries(addressParts.map((part) => [part, address?.[part] ?? ''])) as AddressDraft;
}

/** Left out when there is none and was none. */
function addressBody(draft: AddressDraft, customer: Customer | undefined): { shipping_address?: object | null } {
  const filled = addressParts.filter((part) => draft[part].trim() !== '');
  if (filled.length === 0) return customer?.shipping_address ? { shipping_address: null } : {};
  return { shipping_address: Object.fromEntries(addressParts.map((part) => [part, draft[part].trim() || null])) };
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
      ...addressDraft(customer),
    },
    check: ({ metadata }) => ({ metadata: metadataProblem(metadata) }),
    send: (draft, key) => {
      const metadata = metadataOf(draft.metadata) ?? {};
      // Keys that were taken out have to be named to go.
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
        ...addressBody(draft, customer),
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
          <TextField form={form} name="company" label={customers.company} hint={common.optional} />
        </FieldRow>
        <TextField form={form} name="tags" label={customers.tags} hint={customers.tagsHint} />
        <details open={Boolean(customer?.shipping_address)}>
          <summary className="mb-3 text-sm font-medium">{customers.shippingAddress}</summary>
          <div className="grid gap-4 sm:grid-cols-2">
            {addressParts.map((part) => (
              <TextField
                key={part}
                form={form}
                name={part}
                path={`shipping_address.${part}`}
                label={customers.address[part]}
              />
            ))}
          </div>
        </details>
        <AreaField form={form} name="metadata" label={common.metadata} hint={common.metadataHint} />
      </Form>
    </Dialog>
  );
}
