import { Dialog } from '../../components/dialog.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { CheckField, FieldRow, NumberField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { LanguageField, languageName } from '../../components/language-field.tsx';
import { toast } from '../../components/toasts.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';
import { endOfDay } from './link-draft.ts';

const draftOf = (link?: PaymentLink) => ({
  name: link?.name ?? '',
  allow_coupons: link?.allow_coupons ?? false,
  max_payments: link?.max_payments?.toString() ?? '',
  ends_at: link?.ends_at?.slice(0, 10) ?? '',
  success_url: link?.success_url ?? '',
  locale: link?.locale ?? '',
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = ({ name, allow_coupons, max_payments, ends_at, success_url, locale }: Draft) => ({
  name,
  allow_coupons,
  success_url: success_url.trim() || null,
  locale: locale || null,
  ...(max_payments ? { max_payments: Number(max_payments) } : {}),
  ...(ends_at ? { ends_at: endOfDay(ends_at) } : {}),
});

const fields = editedFields<Draft>({
  name: paymentLinks.name,
  allow_coupons: paymentLinks.coupons,
  max_payments: paymentLinks.max,
  ends_at: paymentLinks.ends,
  success_url: paymentLinks.successUrl,
  locale: {
    label: paymentLinks.language,
    show: ({ locale }) => (locale ? languageName(locale) : paymentLinks.noLanguage),
  },
});

/** What a link sells stays as it is: people who have the link rely on it. */
export function EditLink({ link, onClose }: { link: PaymentLink; onClose: () => void }) {
  const { max_payments, ends_at } = link;
  const form = useEditForm({
    object: link,
    path: `/v1/payment_links/${link.id}`,
    draftOf,
    bodyOf,
    fields,
    check: (draft) => ({
      max_payments: max_payments !== null && !draft.max_payments ? paymentLinks.keepsLimit : undefined,
      ends_at: ends_at !== null && !draft.ends_at ? paymentLinks.keepsEnd : undefined,
    }),
    onDone: () => {
      toast(paymentLinks.changed);
      onClose();
    },
  });
  return (
    <Dialog title={paymentLinks.edit} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <TextField form={form} name="name" label={paymentLinks.name} hint={paymentLinks.nameHint} />
        <CheckField form={form} name="allow_coupons" label={paymentLinks.coupons} />
        <FieldRow>
          <NumberField
            form={form}
            name="max_payments"
            label={paymentLinks.max}
            hint={max_payments === null && paymentLinks.maxHint}
          />
          <TextField form={form} name="ends_at" type="date" label={paymentLinks.ends} hint={paymentLinks.endsHint} />
        </FieldRow>
        <TextField
          form={form}
          name="success_url"
          type="url"
          label={paymentLinks.successUrl}
          hint={paymentLinks.successHint}
          placeholder="https://shop.example.com/thanks"
        />
        <LanguageField
          form={form}
          name="locale"
          label={paymentLinks.language}
          hint={paymentLinks.languageHint}
          none={paymentLinks.noLanguage}
        />
      </Form>
    </Dialog>
  );
}
