import { call } from '../../api.ts';
import { SecretDialog } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { AreaField, FieldRow, SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Load } from '../../components/page.tsx';
import { PermissionMatrix } from '../../components/permission-matrix.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { useSignedIn } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { type Body, editedFields, typedTime } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import type { ApiKey, CreatedApiKey, PermissionEntry } from '../../types.ts';

const choicesOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([value, label]) => ({ value, label }));

interface KeyFormProps {
  readonly apiKey?: ApiKey;
  readonly onClose: () => void;
  readonly onMade: (made: CreatedApiKey) => void;
}

export function KeyForm(props: KeyFormProps) {
  const query = useGet<{ data: readonly PermissionEntry[] }>('/dashboard/permissions');
  return (
    <Dialog title={props.apiKey ? developers.editKey : developers.newKey} onClose={props.onClose}>
      <Load query={query}>{({ data }) => <KeyFields {...props} all={data.filter(({ for_keys }) => for_keys)} />}</Load>
    </Dialog>
  );
}

const draftOf = (apiKey: ApiKey | undefined, own: readonly string[]) => ({
  name: apiKey?.name ?? '',
  kind: apiKey?.kind ?? 'secret',
  permissions: [...(apiKey?.permissions ?? own)],
  allowed_addresses: (apiKey?.allowed_addresses ?? []).join('\n'),
  expires_at: apiKey?.expires_at?.slice(0, 16) ?? '',
});
type Draft = ReturnType<typeof draftOf>;

function bodyOf({ name, kind, permissions, allowed_addresses, expires_at }: Draft, isNew: boolean): Body {
  const addresses = allowed_addresses.split(/[\s,]+/).filter(Boolean);
  return {
    name,
    ...(isNew && { kind }),
    ...(kind === 'secret' && { permissions }),
    ...((addresses.length > 0 || !isNew) && { allowed_addresses: addresses }),
    ...((expires_at || !isNew) && { expires_at: expires_at ? `${expires_at}:00Z` : null }),
  };
}

const fields = editedFields<Draft>({
  name: common.name,
  kind: { label: developers.kind, choices: developers.kinds },
  permissions: developers.permissions,
  allowed_addresses: developers.addresses,
  expires_at: { label: developers.expires, show: ({ expires_at }) => typedTime(expires_at) },
});

/** A key for agents cannot change anything else in live, so it is never part of a usual key. */
const apart: readonly string[] = ['agents:write'];

function KeyFields({ apiKey, onClose, onMade, all }: KeyFormProps & { readonly all: readonly PermissionEntry[] }) {
  const { company } = useSignedIn();
  // A member can only create keys with permissions they have.
  const own = all.map(({ key }) => key).filter((key) => company.permissions.includes(key) && !apart.includes(key));
  const form = useEditForm({
    object: apiKey,
    path: `/dashboard/api_keys/${apiKey?.id}`,
    create: (body, key) => call<CreatedApiKey>('POST', '/dashboard/api_keys', { body, key }),
    draftOf: (known) => draftOf(known, own),
    bodyOf: (draft) => bodyOf(draft, apiKey === undefined),
    fields,
    check: ({ kind, permissions }) => ({
      permissions: kind === 'secret' && permissions.length === 0 ? developers.choosePermission : undefined,
    }),
    onDone: (made) => {
      onClose();
      if (apiKey) toast(common.saved);
      onMade(made);
    },
  });
  return (
    <Form form={form} submit={apiKey ? common.save : developers.newKey} onCancel={onClose}>
      <FieldRow>
        <TextField form={form} name="name" label={common.name} />
        {apiKey ? (
          <div />
        ) : (
          <SelectField form={form} name="kind" label={developers.kind} choices={choicesOf(developers.kinds)} />
        )}
      </FieldRow>
      {form.draft.kind === 'secret' && (
        <PermissionMatrix
          all={all}
          hint={developers.permissionsHint}
          apart={apart}
          chosen={form.draft.permissions}
          onChange={(chosen) => form.set('permissions', chosen)}
          error={form.errorOf('permissions')}
        />
      )}
      <AreaField
        form={form}
        name="allowed_addresses"
        label={developers.addresses}
        hint={developers.addressesHint}
        rows={2}
      />
      <TextField
        form={form}
        name="expires_at"
        label={`${developers.expires} (UTC)`}
        hint={developers.expiresHint}
        type="datetime-local"
      />
    </Form>
  );
}

export function RotateKey({ apiKey, onClose, onMade }: Required<KeyFormProps>) {
  const form = useForm({
    initial: { grace: '24' },
    send: ({ grace }, key) =>
      call<CreatedApiKey>('POST', `/dashboard/api_keys/${apiKey.id}/rotate`, {
        body: { grace_period_hours: Number(grace) },
        key,
      }),
    onDone: (made) => {
      onClose();
      onMade(made);
    },
  });
  return (
    <Dialog title={developers.rotateTitle} onClose={onClose}>
      <Form form={form} submit={developers.rotate} onCancel={onClose}>
        <p>{developers.rotateText}</p>
        <SelectField
          form={form}
          name="grace"
          path="grace_period_hours"
          label={developers.grace}
          choices={choicesOf(developers.graces)}
        />
      </Form>
    </Dialog>
  );
}

export function MadeKey({ made, onClose }: { made: CreatedApiKey; onClose: () => void }) {
  return (
    <SecretDialog title={developers.keyMade} secret={made.key} note={developers.keyOnce} onClose={onClose}>
      {'previous_valid_until' in made && (
        <p className="text-muted">
          {developers.oldUntil} <DateTime at={made.previous_valid_until} />
        </p>
      )}
    </SecretDialog>
  );
}
