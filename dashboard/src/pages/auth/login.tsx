import { useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError, call } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { TextField } from '../../components/fields.tsx';
import { ErrorNote, Form, useForm } from '../../components/form.tsx';
import { useFilters } from '../../data.ts';
import { keepSession } from '../../session.ts';
import { auth } from '../../texts/auth.ts';
import type { Session } from '../../types.ts';
import { AuthPage } from './auth-page.tsx';
import { navigate } from '../../routing.tsx';

/** Accepts only paths of this dashboard, so that a link cannot redirect to another site. */
const ownPage = (next: string | undefined): string => (next && /^\/[^/\\]/.test(next) ? next : '/');

export function LoginPage() {
  const [{ next, changed }] = useFilters();
  const [second, setSecond] = useState(false);
  const client = useQueryClient();
  function enter(session: Session): void {
    client.clear();
    keepSession(client, session);
    // The guides and the API reference are not pages of the dashboard.
    if (next?.startsWith('/docs')) location.assign(next);
    else void navigate({ href: ownPage(next) });
  }
  const refusal = useOneTimeSignIn(enter);
  const form = useForm({
    initial: { email: '', password: '', totp_code: '' },
    send: async ({ email, password, totp_code }, key) => {
      const body = { email: email.trim(), password, ...(totp_code ? { totp_code: totp_code.trim() } : {}) };
      try {
        return await call<Session>('POST', '/dashboard/session', { body, key });
      } catch (error) {
        if (error instanceof ApiError && error.code === 'totp_required') {
          setSecond(true);
          if (!totp_code) return null;
        }
        throw error;
      }
    },
    onDone: (session) => {
      if (session) enter(session);
    },
  });
  return (
    <AuthPage
      title={auth.signInTitle}
      foot={
        <>
          {auth.noAccount} <TextLink to="/sign-up">{auth.signUp}</TextLink>
        </>
      }
    >
      {refusal && <ErrorNote error={refusal} />}
      {changed && (
        <p role="status" className="mb-4 rounded-[8px] bg-good-soft px-3.5 py-2.5 text-good">
          {auth.passwordChanged}
        </p>
      )}
      <Form form={form} submit={auth.signIn} wide>
        <TextField form={form} name="email" label={auth.email} type="email" autoComplete="username" autoFocus />
        <TextField
          form={form}
          name="password"
          label={auth.password}
          type="password"
          autoComplete="current-password"
          aside={
            <span className="text-sm">
              <TextLink to="/forgot-password">{auth.forgot}</TextLink>
            </span>
          }
        />
        {second && (
          <>
            <p role="status">{auth.totpAsked}</p>
            <TextField
              form={form}
              name="totp_code"
              label={auth.totpCode}
              hint={auth.totpHint}
              autoComplete="one-time-code"
              autoFocus
            />
          </>
        )}
      </Form>
    </AuthPage>
  );
}

/**
 * The address that `npm start` prints at a terminal has a token behind the `#`, which browsers do not send to servers: no log
 * contains it. Returns why it does not sign in.
 */
function useOneTimeSignIn(enter: (session: Session) => void): ApiError | undefined {
  const [refusal, setRefusal] = useState<ApiError>();
  const isSent = useRef(false);
  useEffect(() => {
    const token = /^#once=(.+)$/.exec(location.hash)?.[1];
    if (!token || isSent.current) return;
    isSent.current = true;
    history.replaceState(history.state, '', location.pathname + location.search);
    call<Session>('POST', '/dashboard/session/once', { body: { token } }).then(enter, (error: unknown) =>
      setRefusal(error instanceof ApiError ? error : undefined),
    );
  }, []);
  return refusal;
}
