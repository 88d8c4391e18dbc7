import { call, changeField } from '../../api.ts';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckGroup, NumberField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { processors } from '../../texts/processors.ts';
import type { Connection } from '../../types.ts';
import { CredentialsForm, type Kind } from './credentials-form.tsx';

interface DialogProps {
  readonly connection: Connection;
  readonly onClose: () => void;
}

const pathOf = ({ id }: Connection): string => `/dashboard/processors/${id}`;

const nameDraft = (connection?: Connection) => ({ name: connection?.name ?? '' });
const nameFields = editedFields<ReturnType<typeof nameDraft>>({ name: processors.name });

export function Rename({ connection, onClose }: DialogProps) {
  const form = useEditForm({
    object: connection,
    path: pathOf(connection),
    draftOf: nameDraft,
    bodyOf: (draft) => draft,
    fields: nameFields,
    onDone: () => {
      toast(processors.renamed);
      onClose();
    },
  });
  return (
    <Dialog title={processors.rename} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <TextField form={form} name="name" label={processors.name} hint={processors.nameHint} />
      </Form>
    </Dialog>
  );
}

export function ReplaceCredentials({ connection, kind, onClose }: DialogProps & { readonly kind: Kind }) {
  return (
    <Dialog title={`${processors.credentials}: ${connection.name}`} onClose={onClose}>
      <p className="mb-4 text-muted">{processors.credentialsLead}</p>
      <CredentialsForm
        kind={kind}
        connectionId={connection.id}
        submit={processors.credentials}
        send={(body, key) => changeField(pathOf(connection), 'configuration', body.configuration, key)}
        onDone={() => {
          toast(processors.credentialsSaved);
          onClose();
        }}
        onCancel={onClose}
      />
    </Dialog>
  );
}

const codesOf = (text: string): string[] => [
  ...new Set(
    text
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter(Boolean),
  ),
];

const isShare = (text: string): boolean => /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 100;

type Brands = NonNullable<Connection['rules']['brands']>;

const rulesDraft = (connection?: Connection) => {
  const { currencies = [], brands = [], share } = connection?.rules ?? {};
  return { currencies: currencies.join(', '), brands: [...brands], share: share === undefined ? '' : String(share) };
};
type RulesDraft = ReturnType<typeof rulesDraft>;

/** The rules are replaced as a whole. */
function rulesBody({ currencies, brands, share }: RulesDraft): { rules: Connection['rules'] } {
  const codes = codesOf(currencies);
  const rules = {
    ...(codes.length > 0 && { currencies: codes }),
    ...(brands.length > 0 && { brands }),
    ...(share !== '' && share !== '100' && { share: Number(share) }),
  };
  return { rules };
}

const rulesFields = editedFields<RulesDraft>({
  currencies: { label: processors.currencies, path: 'rules.currencies' },
  brands: { label: processors.brands, path: 'rules.brands' },
  share: { label: processors.share, path: 'rules.share' },
});

export function EditRules({ connection, onClose }: DialogProps) {
  const form = useEditForm({
    object: connection,
    path: pathOf(connection),
    draftOf: rulesDraft,
    bodyOf: rulesBody,
    fields: rulesFields,
    check: (draft) => ({
      'rules.currencies': codesOf(draft.currencies).every((code) => /^[a-z]{3}$/.test(code))
        ? undefined
        : processors.currenciesInvalid,
      'rules.share': draft.share === '' || isShare(draft.share) ? undefined : processors.shareInvalid,
    }),
    onDone: () => {
      toast(processors.rulesSaved);
      onClose();
    },
  });
  return (
    <Dialog title={`${processors.rules}: ${connection.name}`} onClose={onClose}>
      <p className="mb-4 text-muted">{processors.rulesLead}</p>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <TextField
          form={form}
          name="currencies"
          path="rules.currencies"
          label={processors.currencies}
          hint={processors.currenciesHint}
          placeholder={common.any}
        />
        <CheckGroup
          label={processors.brands}
          hint={processors.brandsHint}
          choices={Object.entries(processors.brandNames).map(([value, label]) => ({ value, label }))}
          chosen={form.draft.brands}
          onChange={(chosen) => form.set('brands', chosen as Brands)}
          error={form.errorOf('rules.brands')}
        />
        <NumberField
          form={form}
          name="share"
          path="rules.share"
          label={`${processors.share} (%)`}
          hint={processors.shareHint}
          max={100}
          placeholder="100"
        />
      </Form>
    </Dialog>
  );
}

const send =
  (method: 'POST' | 'DELETE', path: string) =>
  (key: string): Promise<Connection> =>
    call(method, `/dashboard/processors/${path}`, { key, ...(method === 'POST' && { body: {} }) });

export function Disconnect({ connection, onClose, isLast }: DialogProps & { readonly isLast: boolean }) {
  return (
    <Confirm
      title={processors.disconnect}
      confirm={processors.disconnect}
      danger
      done={processors.disconnected}
      send={send('POST', `${connection.id}/disconnect`)}
      onClose={onClose}
    >
      <p>{processors.disconnectText(connection.name)}</p>
      {isLast && <p className="mt-3 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{processors.disconnectLast}</p>}
    </Confirm>
  );
}

export function Reconnect({ connection, onClose }: DialogProps) {
  return (
    <Confirm
      title={processors.reconnect}
      confirm={processors.reconnect}
      done={processors.reconnected}
      send={send('POST', `${connection.id}/reconnect`)}
      onClose={onClose}
    >
      {processors.reconnectText(connection.name)}
    </Confirm>
  );
}

export function RemoveCredentials({ connection, onClose }: DialogProps) {
  return (
    <Confirm
      title={processors.remove}
      confirm={processors.remove}
      danger
      done={processors.removed}
      send={send('DELETE', connection.id)}
      onClose={onClose}
    >
      <p>{processors.removeText(connection.name)}</p>
      <p className="mt-3 rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{processors.removeWarning}</p>
    </Confirm>
  );
}
