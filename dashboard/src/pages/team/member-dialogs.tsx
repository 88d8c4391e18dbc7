import { call } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { FieldRow, SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { phoneDigits } from '../../format.ts';
import { useReasonAgainst } from '../../session.ts';
import { auth } from '../../texts/auth.ts';
import { common } from '../../texts/common.ts';
import { team } from '../../texts/team.ts';
import type { Role, TeamMember } from '../../types.ts';

/** Why a member cannot change another one: their role has more permissions. */
export function useReasonAgainstMember(): (member: TeamMember) => string | undefined {
  const reasonAgainst = useReasonAgainst();
  const roles = useRoles();
  return ({ role }) => reasonAgainst(roles.find(({ id }) => id === role.id)?.permissions);
}

function useRoles(): readonly Role[] {
  return useGet<{ data: readonly Role[] }>('/v1/roles', { expand: 'permissions' }).data?.data ?? [];
}

/** Members can only assign roles whose permissions they have. */
function useOwnRoles(): readonly Role[] {
  const reasonAgainst = useReasonAgainst();
  return useRoles().filter(({ permissions }) => !reasonAgainst(permissions));
}

const choicesOf = (roles: readonly Role[]) => [
  { value: '', label: '…' },
  ...roles.map(({ id, name, description }) => ({ value: id, label: `${name} — ${description}` })),
];

export function Invite({ onClose }: { onClose: () => void }) {
  const roles = useOwnRoles();
  const form = useForm({
    initial: { first_name: '', last_name: '', email: '', phone_number: '', role_id: '' },
    check: ({ role_id }) => ({ role_id: role_id === '' ? common.required : undefined }),
    send: (draft, key) =>
      call<TeamMember>('POST', '/dashboard/team_members', {
        body: { ...draft, email: draft.email.trim(), phone_number: phoneDigits(draft.phone_number) },
        key,
      }),
    onDone: () => {
      toast(team.invited);
      onClose();
    },
  });
  return (
    <Dialog title={team.inviteTitle} onClose={onClose}>
      <Form form={form} submit={team.invite} onCancel={onClose}>
        <p className="text-muted">{team.inviteText}</p>
        <FieldRow>
          <TextField form={form} name="first_name" label={team.firstName} />
          <TextField form={form} name="last_name" label={team.lastName} />
        </FieldRow>
        <TextField form={form} name="email" label={team.email} type="email" />
        <TextField form={form} name="phone_number" label={auth.phone} hint={auth.phoneHint} type="tel" />
        <SelectField form={form} name="role_id" label={team.role} choices={choicesOf(roles)} />
      </Form>
    </Dialog>
  );
}

export function ChangeRole({ member, onClose }: { member: TeamMember; onClose: () => void }) {
  const roles = useOwnRoles();
  const form = useForm({
    initial: { role_id: member.role.id },
    send: (body, key) => call<TeamMember>('PATCH', `/dashboard/team_members/${member.id}`, { body, key }),
    onDone: () => {
      toast(common.saved);
      onClose();
    },
  });
  return (
    <Dialog title={team.changeRole} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <p className="text-muted">{member.email}</p>
        <SelectField form={form} name="role_id" label={team.role} choices={choicesOf(roles).slice(1)} />
      </Form>
    </Dialog>
  );
}
