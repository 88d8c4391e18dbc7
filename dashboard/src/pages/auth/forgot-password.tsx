import { useState } from 'react';
import { call } from '../../api.ts';
import { unsentEmails } from '../../brand.ts';
import { TextLink } from '../../components/button.tsx';
import { TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { MailboxLink } from '../../components/mailbox-link.tsx';
import { auth } from '../../texts/auth.ts';
import { AuthPage } from './auth-page.tsx';

const { forgotLead, sendLink } = unsentEmails ? auth.unsent : auth;
const linkSent = unsentEmails ? auth.unsent[unsentEmails] : auth.linkSent;

export function ForgotPasswordPage() {
  const [sent, setSent] = useState(false);
  const form = useForm({
    initial: { email: '' },
    send: (body, key) => call('POST', '/dashboard/password_resets', { body, key }),
    onDone: () => setSent(true),
  });
  return (
    <AuthPage
      title={auth.forgotTitle}
      lead={sent ? undefined : forgotLead}
      foot={<TextLink to="/login">{auth.backToLogin}</TextLink>}
    >
      {sent ? (
        <p role="status">
          {linkSent} {unsentEmails === 'mailbox' && <MailboxLink />}
        </p>
      ) : (
        <Form form={form} submit={sendLink} wide>
          <TextField form={form} name="email" label={auth.email} type="email" autoComplete="username" autoFocus />
        </Form>
      )}
    </AuthPage>
  );
}
