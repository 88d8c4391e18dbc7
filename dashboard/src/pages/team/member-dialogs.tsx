import { call } from '../../api.ts';
import { unsentEmails } from '../../brand.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { MailboxLink } from '../../components/mailbox-link.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { useReasonAgainst } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
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
  { value: '', label: team.rolePlaceholder },
  ...roles.map(({ id, name, description }) => ({ value: id, label: `${name} — ${description}` })),
];

export function Invite({ onDone, onClose }: { onDone: (member: TeamMember) => void; onClose: () => void }) {
  const roles = useOwnRoles();
  const form = useForm({
    initial: { email: '', role_id: '' },
    check: ({ email, role_id }) => ({
      email: email.trim() === '' ? team.enterEmail : undefined,
      role_id: role_id === '' ? team.chooseRole : undefined,
    }),
    send: ({ email, role_id }, key) =>
      call<TeamMember>('POST', '/dashboard/team_members', { body: { email: email.trim(), role_id }, key }),
    onDone: (member) => {
      onClose();
      onDone(member);
    },
  });
  return (
    <Dialog title={team.inviteTitle} onClose={onClose}>
      <Form form={form} submit={team.invite} onCancel={onClose}>
        <p className="text-muted">{unsentEmails ? team.unsent.inviteText : team.inviteText}</p>
        <TextField form={form} name="email" label={team.email} type="email" autoFocus />
        <SelectField form={form} name="role_id" label={team.role} choices={choicesOf(roles)} />
      </Form>
    </Dialog>
  );
}

/** Where to find the link of an invitation that no mail server sends. */
export function UnsentInvitation({ email, onClose }: { email: string; onClose: () => void }) {
  return (
    <Dialog title={team.unsent.title} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p className="wrap-anywhere">{team.unsent.text(email)}</p>
        {unsentEmails === 'mailbox' ? (
          <p>
            {team.unsent.mailbox} <MailboxLink />
          </p>
        ) : (
          <p>{team.unsent.stored}</p>
        )}
        <div className="flex justify-end">
          <Button kind="primary" onClick={onClose}>
            {common.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

export function ChangeRole({ member, onClose }: { member: TeamMember; onClose: () => void }) {
  const roles = useOwnRoles();
  const form = useEditForm({
    object: member,
    path: `/dashboard/team_members/${member.id}`,
    draftOf: (known?: TeamMember) => ({ role_id: known?.role.id ?? '' }),
    bodyOf: (draft) => draft,
    fields: editedFields<{ role_id: string }>({
      role_id: {
        label: team.role,
        choices: Object.fromEntries([member.role, ...roles].map(({ id, name }) => [id, name])),
      },
    }),
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
