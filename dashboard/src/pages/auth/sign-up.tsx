import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { keepSession } from '../../session.ts';
import { auth } from '../../texts/auth.ts';
import { common } from '../../texts/common.ts';
import type { Session } from '../../types.ts';
import { AuthPage } from './auth-page.tsx';
import { navigate } from '../../routing.tsx';

/** As the service checks it. Checked here too, so that all wrong fields are marked at once. */
const passwordMin = 10;
const missing = (text: string): string | undefined => (text.trim() === '' ? common.required : undefined);

export function SignUpPage() {
  const client = useQueryClient();
  const form = useForm({
    initial: { first_name: '', last_name: '', company_name: '', email: '', password: '' },
    check: ({ password, ...others }) => ({
      ...Object.fromEntries(Object.entries(others).map(([name, text]) => [name, missing(text)])),
      password: missing(password) ?? (password.length < passwordMin ? auth.passwordShort : undefined),
    }),
    send: (draft, key) => call<Session>('POST', '/dashboard/sign_up', { body: draft, key }),
    onDone: (session) => {
      client.clear();
      keepSession(client, session);
      void navigate({ to: '/home' });
    },
  });
  return (
    <AuthPage
      title={auth.signUpTitle}
      lead={auth.signUpLead}
      foot={
        <>
          {auth.haveAccount} <TextLink to="/login">{auth.signIn}</TextLink>
        </>
      }
    >
      <Form form={form} submit={auth.signUp} wide>
        <TextField form={form} name="email" label={auth.email} type="email" autoComplete="username" autoFocus />
        <TextField
          form={form}
          name="password"
          label={auth.password}
          hint={auth.passwordHint}
          type="password"
          autoComplete="new-password"
        />
        <FieldRow>
          <TextField form={form} name="first_name" label={auth.firstName} autoComplete="given-name" />
          <TextField form={form} name="last_name" label={auth.lastName} autoComplete="family-name" />
        </FieldRow>
        <TextField form={form} name="company_name" label={auth.companyName} autoComplete="organization" />
      </Form>
    </AuthPage>
  );
}
