import { useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, call } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Skeleton } from '../../components/page.tsx';
import { personName, phoneDigits } from '../../format.ts';
import { keepSession } from '../../session.ts';
import { auth } from '../../texts/auth.ts';
import { common } from '../../texts/common.ts';
import type { Invitation, Session } from '../../types.ts';
import { AuthPage } from './auth-page.tsx';
import { navigate, useParams } from '../../routing.tsx';

export function InvitationPage() {
  const { token = '' } = useParams();
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => call<Invitation>('GET', `/dashboard/invitations/${encodeURIComponent(token)}`),
    retry: false,
  });
  if (query.data) return <Accept invitation={query.data} token={token} />;
  return (
    <AuthPage
      title={query.error ? common.missingTitle : common.loading}
      foot={<TextLink to="/login">{auth.backToLogin}</TextLink>}
    >
      {query.error ? (
        <p>
          {query.error instanceof ApiError && query.error.status === 404 ? auth.invitationMissing : query.error.message}
        </p>
      ) : (
        <Skeleton />
      )}
    </AuthPage>
  );
}

function Accept({ invitation, token }: { invitation: Invitation; token: string }) {
  const [second, setSecond] = useState(false);
  const client = useQueryClient();
  const form = useForm({
    initial: {
      first_name: invitation.first_name,
      last_name: invitation.last_name,
      phone_number: '',
      password: '',
      totp_code: '',
    },
    send: async ({ first_name, last_name, phone_number, password, totp_code }, key) => {
      const person = { first_name, last_name, ...(phone_number && { phone_number: phoneDigits(phone_number) }) };
      const body = {
        password,
        ...(totp_code ? { totp_code: totp_code.trim() } : {}),
        ...(invitation.has_account ? {} : person),
      };
      try {
        return await call<Session>('POST', `/dashboard/invitations/${encodeURIComponent(token)}/accept`, { body, key });
      } catch (error) {
        if (error instanceof ApiError && error.code === 'totp_required') setSecond(true);
        throw error;
      }
    },
    onDone: (session) => {
      client.clear();
      keepSession(client, session);
      void navigate({ to: '/' });
    },
  });
  const obstacle =
    invitation.status === 'blocked'
      ? auth.invitationBlocked
      : invitation.status === 'active'
        ? auth.invitationUsed
        : invitation.expired
          ? auth.invitationExpired
          : undefined;
  return (
    <AuthPage
      title={auth.invitationTitle(invitation.company_name)}
      lead={auth.invitationLead(personName(invitation), invitation.role_name)}
      foot={<TextLink to="/login">{auth.backToLogin}</TextLink>}
    >
      {obstacle ? (
        <p>{obstacle}</p>
      ) : (
        <Form form={form} submit={auth.accept} wide>
          <p className="text-muted">{invitation.has_account ? auth.invitationKnown : auth.invitationNew}</p>
          <p className="font-medium">{invitation.email}</p>
          {!invitation.has_account && (
            <>
              <FieldRow>
                <TextField form={form} name="first_name" label={auth.firstName} autoComplete="given-name" autoFocus />
                <TextField form={form} name="last_name" label={auth.lastName} autoComplete="family-name" />
              </FieldRow>
              <TextField
                form={form}
                name="phone_number"
                label={auth.phone}
                hint={auth.phoneOptional}
                type="tel"
                autoComplete="tel"
              />
            </>
          )}
          <TextField
            form={form}
            name="password"
            label={auth.password}
            hint={invitation.has_account ? undefined : auth.passwordHint}
            type="password"
            autoComplete={invitation.has_account ? 'current-password' : 'new-password'}
            autoFocus={invitation.has_account}
          />
          {second && (
            <TextField
              form={form}
              name="totp_code"
              label={auth.totpCode}
              hint={auth.totpHint}
              autoComplete="one-time-code"
            />
          )}
        </Form>
      )}
    </AuthPage>
  );
}
