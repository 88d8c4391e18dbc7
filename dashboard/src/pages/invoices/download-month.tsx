import { call } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';
import type { InvoiceMonth } from '../../types.ts';

/** Accountants want the month before, and sometimes an earlier year. */
const monthsBack = 36;

const monthText = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' });

function monthsUntil(now: Date): { value: string; label: string }[] {
  return Array.from({ length: monthsBack }, (_, index) => {
    const first = new Date(Date.UTC(now.getFullYear(), now.getMonth() - index));
    return { value: first.toISOString().slice(0, 'YYYY-MM'.length), label: monthText.format(first) };
  });
}

export function DownloadMonth({ onClose }: { onClose: () => void }) {
  const months = monthsUntil(new Date());
  const form = useForm<{ month: string }, InvoiceMonth>({
    initial: { month: months[1]?.value ?? '' },
    forgettable: true,
    send: ({ month }) => call('GET', `/v1/invoices/month?month=${month}`),
    onDone: ({ url }) => {
      window.open(url, '_blank', 'noopener');
      onClose();
    },
  });
  return (
    <Dialog title={invoices.download} onClose={onClose}>
      <Form form={form} submit={invoices.startDownload} cancel={common.cancel} onCancel={onClose}>
        <p className="text-muted">{invoices.downloadText}</p>
        <SelectField form={form} name="month" label={invoices.month} choices={months} />
      </Form>
    </Dialog>
  );
}
