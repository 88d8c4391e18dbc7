import { useState } from 'react';
import { ApiError, call } from '../api.ts';
import { signInAgain } from '../questions.ts';
import { useKeepSession, useSignedIn } from '../session.ts';
import { auth } from '../texts/auth.ts';
import { shell } from '../texts/common.ts';
import type { Session } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { Form, useForm } from './form.tsx';
import { PasswordFields } from './password-fields.tsx';
import { useQuestion } from './use-question.ts';

/** Signs the user in again when the session has expired, so that the page and its forms stay as they are. */
export function SignInAgain() {
  const answer = useQuestion(signInAgain);
  return answer ? <SignInDialog onAnswer={answer} /> : null;
}

function SignInDialog({ onAnswer }: { onAnswer: (signedIn: boolean) => void }) {
  const { user } = useSignedIn().session;
  const keep = useKeepSession();
  const [second, setSecond] = useState(user.totp_enabled);
  const form = useForm({
    initial: { password: '', totp_code: '' },
    forgettable: true,
    send: async ({ password, totp_code }, key) => {
      const body = { email: user.email, password, ...(totp_code ? { totp_code: totp_code.trim() } : {}) };
      try {
        return await call<Session>('POST', '/dashboard/session', { body, key });
      } catch (error) {
        if (error instanceof ApiError && error.code === 'totp_required') setSecond(true);
        throw error;
      }
    },
    onDone: (session) => {
      keep(session);
      onAnswer(true);
    },
  });
  return (
    <Dialog title={shell.sessionExpired} onClose={() => onAnswer(false)}>
      <p className="mb-4 text-muted">{shell.sessionExpiredLead}</p>
      <Form form={form} submit={auth.signIn} onCancel={() => onAnswer(false)} cancel={shell.signOut}>
        <p className="font-medium">{user.email}</p>
        <PasswordFields form={form} second={second} />
      </Form>
    </Dialog>
  );
}
