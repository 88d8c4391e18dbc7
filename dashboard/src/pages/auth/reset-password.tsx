import { call } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { useFilters } from '../../data.ts';
import { auth } from '../../texts/auth.ts';
import { AuthPage } from './auth-page.tsx';
import { navigate } from '../../routing.tsx';

export function ResetPasswordPage() {
  const [{ token }] = useFilters();
  const form = useForm({
    initial: { password: '' },
    send: ({ password }, key) =>
      call('POST', '/dashboard/password_resets/complete', { body: { token, password }, key }),
    onDone: () => void navigate({ to: '/login', search: { changed: 'yes' } }),
  });
  return (
    <AuthPage title={auth.resetTitle} foot={<TextLink to="/login">{auth.backToLogin}</TextLink>}>
      {token ? (
        <Form form={form} submit={auth.changePassword} wide>
          <TextField
            form={form}
            name="password"
            label={auth.newPassword}
            hint={auth.passwordHint}
            type="password"
            autoComplete="new-password"
            autoFocus
          />
        </Form>
      ) : (
        <p>{auth.resetNoToken}</p>
      )}
    </AuthPage>
  );
}
