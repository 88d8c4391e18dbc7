import { useState } from 'react';
import { call } from '../../api.ts';
import { unsentEmails } from '../../brand.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useAction } from '../../components/form.tsx';
import { Menu, MenuItem, MenuLine } from '../../components/menu.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { toast } from '../../components/toasts.tsx';
import { type Filter, statusFilter } from '../../list-filters.ts';
import { personName } from '../../format.ts';
import { useOpening } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { team } from '../../texts/team.ts';
import type { TeamMember } from '../../types.ts';
import { ChangeRole, Invite, UnsentInvitation, useReasonAgainstMember } from './member-dialogs.tsx';

type Open =
  | { readonly what: 'invite' }
  | { readonly what: 'role' | 'block' | 'remove' | 'unsent'; readonly member: TeamMember };

const filters: readonly Filter[] = [statusFilter(['pending', 'active', 'blocked'])];

export function TeamPage() {
  const [open, setOpen] = useState<Open>();
  const { user } = useSignedIn().session;
  const reason = useCan('team_members:write') ? undefined : common.notAllowed;
  const reasonAgainst = useReasonAgainstMember();
  const close = () => setOpen(undefined);
  useOpening('add', () => setOpen({ what: 'invite' }));
  const tellInvited = (text: string) => (member: TeamMember) =>
    unsentEmails ? setOpen({ what: 'unsent', member }) : toast(text);
  const post = (verb: string) => (id: string, key: string) =>
    call<TeamMember>('POST', `/dashboard/team_members/${id}/${verb}`, { body: {}, key });
  const unblock = useAction({ tells: true, send: post('unblock'), onDone: () => toast(team.unblocked) });
  const resend = useAction({ tells: true, send: post('resend'), onDone: tellInvited(team.resent) });
  const button = (
    <Button kind="primary" icon="plus" reason={reason} onClick={() => setOpen({ what: 'invite' })}>
      {team.invite}
    </Button>
  );
  return (
    <Page title={team.title} lead={team.lead} actions={button}>
      <ResourceTable<TeamMember>
        path="/v1/team_members"
        label={team.title}
        keyOf={({ id }) => id}
        filters={filters}
        columns={[
          {
            header: common.name,
            cell: (member) => (
              <span>
                <span className="block font-medium">{personName(member) || member.email}</span>
                {personName(member) && <span className="block text-sm break-all text-muted">{member.email}</span>}
              </span>
            ),
          },
          { header: team.role, cell: ({ role }) => role.name },
          { header: common.status, cell: (member) => <Badge status={member.status} /> },
          { header: team.accepted, cell: ({ accepted_at }) => <DateTime at={accepted_at} />, wide: true },
          {
            header: common.actions,
            end: true,
            cell: (member) => {
              const refused = reason ?? reasonAgainst(member);
              return (
                member.email !== user.email && (
                  <Menu
                    trigger={<IconButton label={`${common.more}: ${personName(member) || member.email}`} icon="more" />}
                  >
                    <MenuItem reason={refused} onSelect={() => setOpen({ what: 'role', member })}>
                      {team.changeRole}
                    </MenuItem>
                    {member.status === 'pending' && (
                      <MenuItem reason={refused} onSelect={() => void resend.run(member.id)}>
                        {team.resend}
                      </MenuItem>
                    )}
                    {member.status === 'blocked' && (
                      <MenuItem reason={refused} onSelect={() => void unblock.run(member.id)}>
                        {team.unblock}
                      </MenuItem>
                    )}
                    {member.status === 'active' && (
                      <MenuItem reason={refused} onSelect={() => setOpen({ what: 'block', member })}>
                        {team.block}
                      </MenuItem>
                    )}
                    <MenuLine />
                    <MenuItem reason={refused} danger onSelect={() => setOpen({ what: 'remove', member })}>
                      {team.remove}
                    </MenuItem>
                  </Menu>
                )
              );
            },
          },
        ]}
        empty={
          <Empty title={team.emptyTitle} actions={button}>
            {team.empty}
          </Empty>
        }
      />
      {open?.what === 'invite' && <Invite onDone={tellInvited(team.invited)} onClose={close} />}
      {open?.what === 'unsent' && <UnsentInvitation email={open.member.email} onClose={close} />}
      {open?.what === 'role' && <ChangeRole member={open.member} onClose={close} />}
      {open?.what === 'block' && (
        <Confirm
          title={team.block}
          confirm={team.block}
          danger
          done={team.blocked}
          send={(key) => post('block')(open.member.id, key)}
          onClose={close}
        >
          {team.blockText(personName(open.member) || open.member.email)}
        </Confirm>
      )}
      {open?.what === 'remove' && (
        <Confirm
          title={team.remove}
          confirm={team.remove}
          danger
          done={team.removed}
          send={(key) => call('DELETE', `/dashboard/team_members/${open.member.id}`, { key })}
          onClose={close}
        >
          {team.removeText(personName(open.member) || open.member.email)}
        </Confirm>
      )}
    </Page>
  );
}
