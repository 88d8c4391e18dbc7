import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { Load, Page } from '../../components/page.tsx';
import { PermissionMatrix } from '../../components/permission-matrix.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { placesOf } from '../../navigation.ts';
import { useCan, useReasonAgainst, useSignedIn } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import { team } from '../../texts/team.ts';
import type { PermissionEntry, Role } from '../../types.ts';

type Open = { readonly what: 'create' } | { readonly what: 'edit' | 'delete'; readonly role: Role };

export function RolesPage() {
  const query = useGet<{ data: readonly Role[] }>('/v1/roles', { expand: 'permissions' });
  const permissions = useGet<{ data: readonly PermissionEntry[] }>('/dashboard/permissions');
  const [open, setOpen] = useState<Open>();
  const reason = useCan('team_members:write') ? undefined : common.notAllowed;
  const reasonAgainst = useReasonAgainst();
  const close = () => setOpen(undefined);
  const all = permissions.data?.data ?? [];
  return (
    <Page
      title={team.rolesTitle}
      lead={team.rolesLead}
      actions={
        <Button kind="primary" icon="plus" reason={reason} onClick={() => setOpen({ what: 'create' })}>
          {team.newRole}
        </Button>
      }
    >
      <Load query={query}>
        {({ data }) => (
          <ul className="grid gap-4 lg:grid-cols-2">
            {data.map((role) => (
              <li key={role.id} className="panel flex flex-col gap-2 p-5">
                <div className="flex items-center gap-3">
                  <h2 className="font-semibold">{role.name}</h2>
                  <Badge
                    status="role"
                    label={role.custom ? team.custom : team.builtIn}
                    tone={role.custom ? 'info' : 'calm'}
                  />
                  <span className="grow" />
                  {role.custom && (
                    <>
                      <Button
                        small
                        reason={reason ?? reasonAgainst(role.permissions)}
                        onClick={() => setOpen({ what: 'edit', role })}
                        aria-label={`${common.edit} ${role.name}`}
                      >
                        {common.edit}
                      </Button>
                      <Button
                        small
                        reason={reason ?? reasonAgainst(role.permissions)}
                        onClick={() => setOpen({ what: 'delete', role })}
                        aria-label={`${common.delete} ${role.name}`}
                      >
                        {common.delete}
                      </Button>
                    </>
                  )}
                </div>
                <p className="text-muted">{role.description}</p>
                <details>
                  <summary className="text-sm text-accent-ink">
                    {team.permissionCount(role.permissions?.length ?? 0)}
                  </summary>
                  <p className="mt-2 flex flex-wrap gap-1.5">
                    {role.permissions?.map((permission) => (
                      <code key={permission} className="rounded bg-sunken px-1.5 py-0.5 font-mono text-xs">
                        {permission}
                      </code>
                    ))}
                  </p>
                </details>
              </li>
            ))}
          </ul>
        )}
      </Load>
      {open?.what === 'create' && <RoleForm all={all} onClose={close} />}
      {open?.what === 'edit' && <RoleForm all={all} role={open.role} onClose={close} />}
      {open?.what === 'delete' && (
        <Confirm
          title={team.deleteRole}
          confirm={common.delete}
          danger
          done={team.roleDeleted}
          send={(key) => call('DELETE', `/dashboard/roles/${open.role.id}`, { key })}
          onClose={close}
        >
          {team.deleteRoleText(open.role.name)}
        </Confirm>
      )}
    </Page>
  );
}

const draftOf = (role?: Role) => ({
  name: role?.name ?? '',
  description: role?.description ?? '',
  default_page: role?.default_page ?? '/home',
  permissions: [...(role?.permissions ?? [])],
});

const fields = editedFields<ReturnType<typeof draftOf>>({
  name: common.name,
  description: common.description,
  default_page: team.startPage,
  permissions: developers.permissions,
});

function RoleForm({ role, all, onClose }: { role?: Role; all: readonly PermissionEntry[]; onClose: () => void }) {
  const { company } = useSignedIn();
  const pages = placesOf(company).flatMap(({ places }) => places.map(({ to, label }) => ({ value: to, label })));
  const form = useEditForm({
    object: role,
    path: `/dashboard/roles/${role?.id}`,
    create: (body, key) => call<Role>('POST', '/dashboard/roles', { body, key }),
    draftOf,
    bodyOf: (draft) => draft,
    fields,
    check: ({ permissions }) => ({ permissions: permissions.length === 0 ? developers.choosePermission : undefined }),
    onDone: () => {
      toast(role ? common.saved : team.roleMade);
      onClose();
    },
  });
  return (
    <Dialog title={role ? team.editRole : team.newRole} onClose={onClose}>
      <Form form={form} submit={role ? common.save : team.newRole} onCancel={onClose}>
        <TextField form={form} name="name" label={common.name} />
        <TextField form={form} name="description" label={common.description} />
        <SelectField form={form} name="default_page" label={team.startPage} choices={pages} />
        <PermissionMatrix
          all={all}
          chosen={form.draft.permissions}
          onChange={(chosen) => form.set('permissions', chosen)}
          error={form.errorOf('permissions')}
        />
      </Form>
    </Dialog>
  );
}
