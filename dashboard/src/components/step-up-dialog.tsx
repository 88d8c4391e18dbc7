import { call } from '../api.ts';
import { useKeepSession, useSignedIn } from '../session.ts';
import { stepUp } from '../questions.ts';
import { auth } from '../texts/auth.ts';
import { shell } from '../texts/common.ts';
import type { Session } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { Form, useForm } from './form.tsx';
import { PasswordFields } from './password-fields.tsx';
import { useQuestion } from './use-question.ts';

/** Asks for the password when a call requires it again. */
export function StepUp() {
  const answer = useQuestion(stepUp);
  return answer ? <StepUpDialog onAnswer={answer} /> : null;
}

function StepUpDialog({ onAnswer }: { onAnswer: (confirmed: boolean) => void }) {
  const { user } = useSignedIn().session;
  const keep = useKeepSession();
  const form = useForm({
    initial: { password: '', totp_code: '' },
    forgettable: true,
    send: ({ password, totp_code }, key) =>
      call<Session>('POST', '/dashboard/session/step_up', {
        body: { password, ...(totp_code ? { totp_code: totp_code.trim() } : {}) },
        key,
      }),
    onDone: (session) => {
      keep(session);
      onAnswer(true);
    },
  });
  return (
    <Dialog title={shell.stepUp} onClose={() => onAnswer(false)}>
      <p className="mb-4 text-muted">{shell.stepUpLead}</p>
      <Form form={form} submit={auth.confirm} onCancel={() => onAnswer(false)}>
        <PasswordFields form={form} second={user.totp_enabled} />
      </Form>
    </Dialog>
  );
}
