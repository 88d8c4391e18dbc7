import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { FieldRow, TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { phoneDigits } from '../../format.ts';
import { keepSession } from '../../session.ts';
import { auth } from '../../texts/auth.ts';
import type { Session } from '../../types.ts';
import { AuthPage } from './auth-page.tsx';
import { navigate } from '../../routing.tsx';

export function SignUpPage() {
  const client = useQueryClient();
  const form = useForm({
    initial: { first_name: '', last_name: '', company_name: '', email: '', phone_number: '', password: '' },
    send: (draft, key) =>
      call<Session>('POST', '/dashboard/sign_up', {
        body: { ...draft, phone_number: phoneDigits(draft.phone_number) },
        key,
      }),
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
        <FieldRow>
          <TextField form={form} name="first_name" label={auth.firstName} autoComplete="given-name" autoFocus />
          <TextField form={form} name="last_name" label={auth.lastName} autoComplete="family-name" />
        </FieldRow>
        <TextField form={form} name="company_name" label={auth.companyName} autoComplete="organization" />
        <TextField form={form} name="email" label={auth.email} type="email" autoComplete="username" />
        <TextField
          form={form}
          name="phone_number"
          label={auth.phone}
          hint={auth.phoneHint}
          type="tel"
          autoComplete="tel"
        />
        <TextField
          form={form}
          name="password"
          label={auth.password}
          hint={auth.passwordHint}
          type="password"
          autoComplete="new-password"
        />
      </Form>
    </AuthPage>
  );
}
