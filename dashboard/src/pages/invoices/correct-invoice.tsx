import { call } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { CountrySelect } from '../../components/choice-field.tsx';
import { FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { invoices } from '../../texts/invoices.ts';
import type { Invoice, InvoiceCorrection } from '../../types.ts';

type Buyer = NonNullable<Invoice['buyer']>;

interface CorrectInvoiceProps {
  readonly invoice: Invoice;
  readonly buyer: Buyer;
  readonly onClose: () => void;
}

const draftOf = ({ name, company, tax_id, address }: Buyer) => ({
  name,
  company: company ?? '',
  tax_id: tax_id ?? '',
  line1: address?.line1 ?? '',
  line2: address?.line2 ?? '',
  postal_code: address?.postal_code ?? '',
  city: address?.city ?? '',
  state: address?.state ?? '',
  country: address?.country ?? '',
  reason: '',
});
type Draft = ReturnType<typeof draftOf>;

const orNull = (text: string): string | null => text.trim() || null;

function bodyOf({ reason, name, company, tax_id, ...parts }: Draft, buyer: Buyer) {
  const address = Object.fromEntries(Object.entries(parts).map(([part, text]) => [part, orNull(text)]));
  const isEmpty = Object.values(address).every((text) => text === null);
  return {
    reason: reason.trim(),
    ...(name.trim() !== buyer.name && { name: name.trim() }),
    company: orNull(company),
    tax_id: orNull(tax_id),
    address: isEmpty ? null : address,
  };
}

/** A credit note of the whole invoice, and a new one with this buyer. */
export function CorrectInvoice({ invoice, buyer, onClose }: CorrectInvoiceProps) {
  const form = useForm({
    initial: draftOf(buyer),
    check: ({ reason }) => ({ reason: reason.trim() === '' ? invoices.reasonMissing : undefined }),
    send: (draft, key) =>
      call<InvoiceCorrection>('POST', `/v1/invoices/${invoice.id}/corrections`, { body: bodyOf(draft, buyer), key }),
    onDone: () => {
      onClose();
      toast(invoices.corrected);
    },
  });
  return (
    <Dialog title={invoices.correctTitle(invoice.number)} onClose={onClose}>
      <Form form={form} submit={invoices.correct} onCancel={onClose}>
        <p className="text-muted">{invoices.correctText}</p>
        <FieldRow>
          <TextField form={form} name="name" label={invoices.buyerName} />
          <TextField form={form} name="company" label={invoices.company} />
        </FieldRow>
        <TextField form={form} name="tax_id" label={invoices.taxId} />
        <FieldRow>
          <TextField form={form} name="line1" path="address.line1" label={invoices.line1} />
          <TextField form={form} name="line2" path="address.line2" label={invoices.line2} />
        </FieldRow>
        <FieldRow>
          <TextField form={form} name="postal_code" path="address.postal_code" label={invoices.postalCode} />
          <TextField form={form} name="city" path="address.city" label={invoices.city} />
        </FieldRow>
        <FieldRow>
          <TextField form={form} name="state" path="address.state" label={invoices.region} />
          <CountrySelect
            label={invoices.country}
            name="country"
            error={form.errorOf('address.country')}
            value={form.draft.country}
            onChange={(country) => form.set('country', country)}
          />
        </FieldRow>
        <TextField form={form} name="reason" label={invoices.cause} hint={invoices.reasonHint} />
      </Form>
    </Dialog>
  );
}
