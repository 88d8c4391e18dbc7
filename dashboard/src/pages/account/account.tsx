import { useQuery } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useAction, useForm } from '../../components/form.tsx';
import { Failure, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { phoneDigits } from '../../format.ts';
import { useKeepSession, useSignedIn } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { account } from '../../texts/account.ts';
import { auth } from '../../texts/auth.ts';
import { common } from '../../texts/common.ts';
import type { Session, SessionEntry } from '../../types.ts';
import { SecondFactor } from './second-factor.tsx';

export function AccountPage() {
  return (
    <Page title={account.title} lead={account.lead}>
      <div className="grid items-start gap-x-10 lg:grid-cols-2">
        <Profile />
        <Password />
      </div>
      <SecondFactor />
      <Sessions />
    </Page>
  );
}

interface ProfileDraft {
  first_name: string;
  last_name: string;
  phone_number: string;
}

const profileFields = editedFields<ProfileDraft>({
  first_name: auth.firstName,
  last_name: auth.lastName,
  phone_number: auth.phone,
});

function Profile() {
  const { user } = useSignedIn().session;
  const keep = useKeepSession();
  const form = useEditForm<Session['user'], ProfileDraft, Session>({
    object: user,
    path: '/dashboard/user',
    readPath: '/dashboard/session',
    objectOf: (session) => (session as Session).user,
    draftOf: (known = user) => ({
      first_name: known.first_name,
      last_name: known.last_name,
      phone_number: known.phone_number ?? '',
    }),
    bodyOf: ({ phone_number, ...names }) => ({
      ...names,
      ...(phone_number.trim() && { phone_number: phoneDigits(phone_number) }),
    }),
    fields: profileFields,
    check: ({ phone_number }) => ({
      phone_number: user.phone_number && !phone_number.trim() ? common.required : undefined,
    }),
    onDone: (session) => {
      keep(session);
      toast(common.saved);
    },
  });
  return (
    <Panel title={account.profile}>
      <Form form={form} submit={common.save}>
        <p className="text-muted">{user.email}</p>
        <FieldRow>
          <TextField form={form} name="first_name" label={auth.firstName} autoComplete="given-name" />
          <TextField form={form} name="last_name" label={auth.lastName} autoComplete="family-name" />
        </FieldRow>
        <TextField
          form={form}
          name="phone_number"
          label={auth.phone}
          hint={auth.phoneHint}
          type="tel"
          autoComplete="tel"
        />
      </Form>
    </Panel>
  );
}

function Password() {
  const keep = useKeepSession();
  const form = useForm({
    initial: { current_password: '', password: '' },
    send: (body, key) => call<Session>('POST', '/dashboard/password', { body, key }),
    onDone: (session) => {
      keep(session);
      form.set('current_password', '');
      form.set('password', '');
      toast(account.passwordChanged);
    },
  });
  return (
    <Panel title={account.password}>
      <Form form={form} submit={auth.changePassword}>
        <p className="text-muted">{account.passwordLead}</p>
        <FieldRow>
          <TextField
            form={form}
            name="current_password"
            label={account.currentPassword}
            type="password"
            autoComplete="current-password"
          />
          <TextField
            form={form}
            name="password"
            label={auth.newPassword}
            hint={auth.passwordHint}
            type="password"
            autoComplete="new-password"
          />
        </FieldRow>
      </Form>
    </Panel>
  );
}

/** `Firefox on Windows`, as far as the user agent tells. */
function browserOf(agent: string): string {
  const browser = /(Edg|Firefox|Chrome|Safari)\//.exec(agent)?.[1]?.replace('Edg', 'Edge');
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1]?.replace('Mac OS X', 'macOS');
  return browser && system ? account.browserOn(browser, system) : agent.slice(0, 40) || '—';
}

function Sessions() {
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: () => call<{ data: readonly SessionEntry[] }>('GET', '/dashboard/sessions'),
  });
  const end = useAction<string, unknown>({
    tells: true,
    send: (id, key) => call('DELETE', `/dashboard/sessions/${id}`, { key }),
    onDone: () => toast(account.ended),
  });
  return (
    <Panel title={account.sessions}>
      {query.error ? (
        <Failure error={query.error} />
      ) : (
        <Table
          label={account.sessions}
          rows={query.data?.data}
          keyOf={({ id }) => id}
          columns={[
            {
              header: account.device,
              cell: ({ user_agent }) => <span title={user_agent ?? ''}>{browserOf(user_agent ?? '')}</span>,
            },
            { header: account.address, cell: ({ address }) => address ?? '—', wide: true },
            { header: account.signedIn, cell: ({ created_at }) => <DateTime at={created_at} real />, wide: true },
            { header: account.lastSeen, cell: ({ last_seen_at }) => <DateTime at={last_seen_at} real /> },
            {
              header: common.actions,
              end: true,
              cell: ({ id, current }) =>
                current ? (
                  <Badge status="current" label={account.thisSession} tone="good" />
                ) : (
                  <Button small onClick={() => void end.run(id)}>
                    {account.end}
                  </Button>
                ),
            },
          ]}
        />
      )}
    </Panel>
  );
}
