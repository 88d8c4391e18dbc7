import { CheckField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { settings } from '../../texts/settings.ts';
import type { CompanySettings } from '../../types.ts';

const draftOf = (company?: CompanySettings) => ({ authenticates: company?.authenticates ?? false });
const fields = editedFields<ReturnType<typeof draftOf>>({ authenticates: { label: settings.authenticates } });

interface AuthenticationProps {
  readonly company: CompanySettings;
  readonly canWrite: boolean;
}

/** Whether the bank of the sandbox authenticates customers. */
export function Authentication({ company, canWrite }: AuthenticationProps) {
  const form = useEditForm({
    object: company,
    path: '/dashboard/company',
    draftOf,
    bodyOf: ({ authenticates }) => ({ authenticates }),
    fields,
    onDone: () => toast(common.saved),
  });
  return (
    <>
      <fieldset disabled={!canWrite}>
        <Form form={form} submit={common.save}>
          <CheckField
            form={form}
            name="authenticates"
            label={settings.authenticates}
            hint={settings.authenticatesHint}
          />
        </Form>
      </fieldset>
      {!canWrite && <p className="mt-3 text-sm text-muted">{common.notAllowed}</p>}
    </>
  );
}
