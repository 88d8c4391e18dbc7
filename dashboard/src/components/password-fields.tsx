import { auth } from '../texts/auth.ts';
import { TextField } from './fields.tsx';
import type { FormState } from './form.tsx';

interface PasswordFieldsProps {
  readonly form: FormState<{ password: string; totp_code: string }>;
  /** The account also needs a code of an authenticator app. */
  readonly second: boolean;
}

/** The password of the signed-in user, and the second factor if there is one. */
export function PasswordFields({ form, second }: PasswordFieldsProps) {
  return (
    <>
      <TextField
        form={form}
        name="password"
        label={auth.password}
        type="password"
        autoComplete="current-password"
        autoFocus
      />
      {second && (
        <TextField
          form={form}
          name="totp_code"
          label={auth.totpCode}
          hint={auth.totpHint}
          inputMode="numeric"
          autoComplete="one-time-code"
        />
      )}
    </>
  );
}
