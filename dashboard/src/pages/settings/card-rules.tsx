import { CheckField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings } from '../../types.ts';

const path = '/dashboard/company';

const draftOf = (company?: CompanySettings) => ({
  refuse_declined: company?.card_rules.refuse_declined ?? false,
  refuse_wrong_cvc: company?.card_rules.refuse_wrong_cvc ?? false,
  refuse_wrong_address: company?.card_rules.refuse_wrong_address ?? false,
});
const fields = editedFields<ReturnType<typeof draftOf>>({
  refuse_declined: { label: settings.refuseDeclined, path: 'card_rules.refuse_declined' },
  refuse_wrong_cvc: { label: settings.refuseCvc, path: 'card_rules.refuse_wrong_cvc' },
  refuse_wrong_address: { label: settings.refuseAddress, path: 'card_rules.refuse_wrong_address' },
});

interface CardRulesProps {
  readonly company: CompanySettings;
  readonly canWrite: boolean;
}

/** Which new cards are refused by the result of their verification. */
export function CardRules({ company, canWrite }: CardRulesProps) {
  const form = useEditForm({
    object: company,
    path,
    draftOf,
    bodyOf: ({ refuse_declined, refuse_wrong_cvc, refuse_wrong_address }) => ({
      'card_rules.refuse_declined': refuse_declined,
      'card_rules.refuse_wrong_cvc': refuse_wrong_cvc,
      'card_rules.refuse_wrong_address': refuse_wrong_address,
    }),
    fields,
    onDone: () => toast(common.saved),
  });
  return (
    <>
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <CheckField form={form} name="refuse_declined" label={settings.refuseDeclined} />
          <CheckField form={form} name="refuse_wrong_cvc" label={settings.refuseCvc} />
          <CheckField
            form={form}
            name="refuse_wrong_address"
            label={settings.refuseAddress}
            hint={settings.refuseAddressHint}
          />
        </Form>
      </fieldset>
      {!canWrite && <p className="mt-3 text-sm text-muted">{common.notAllowed}</p>}
    </>
  );
}
