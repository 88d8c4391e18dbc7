import type { ReactNode } from 'react';
import type { ApiError } from '../api.ts';
import { common, shell } from '../texts/common.ts';
import { Button, TextLink } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote, type FormState, useAction } from './form.tsx';
import { toast } from './toasts.tsx';

interface QuestionProps {
  readonly title: string;
  /** The text of the question. */
  readonly children: ReactNode;
  /** The amount, if money moves. */
  readonly amount?: string;
  readonly confirm: string;
  readonly cancel?: string;
  readonly danger?: boolean;
}

interface ConfirmProps<Result> extends QuestionProps {
  readonly done?: string;
  readonly send: (key: string) => Promise<Result>;
  readonly onDone?: (result: Result) => void;
  readonly onClose: () => void;
}

export function Confirm<Result>({ done, send, onDone, onClose, ...question }: ConfirmProps<Result>) {
  const action = useAction<null, Result>({
    send: (_input, key) => send(key),
    onDone: (result) => {
      if (done) toast(done);
      onClose();
      onDone?.(result);
    },
  });
  const { busy, error } = action;
  return <Question {...question} busy={busy} error={error} onYes={() => void action.run(null)} onClose={onClose} />;
}

/** The confirmation dialog of a form. */
export function ConfirmForm<Draft extends object>({
  form,
  ...question
}: QuestionProps & { readonly form: FormState<Draft> }) {
  if (!form.asking) return null;
  const { busy, error } = form;
  return <Question {...question} busy={busy} error={error} onYes={() => void form.confirm()} onClose={form.back} />;
}

interface AskedProps extends QuestionProps {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly onYes: () => void;
  readonly onClose: () => void;
}

function Question(props: AskedProps) {
  const {
    title,
    children,
    amount,
    confirm,
    cancel = common.cancel,
    danger = false,
    busy,
    error,
    onYes,
    onClose,
  } = props;
  // While the request runs, the dialog stays open to show the result.
  const close = () => {
    if (!busy) onClose();
  };
  return (
    <Dialog title={title} onClose={close}>
      <div className="flex flex-col gap-4">
        <div>{children}</div>
        {amount && <Amount text={amount} />}
        {error && <ErrorNote error={error} />}
        {error?.undecided && (
          <p className="text-sm text-muted">
            {common.notTwice} <TextLink to="/in-doubt">{shell.places.inDoubt}</TextLink>
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button disabled={busy} onClick={close}>
            {cancel}
          </Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={onYes}>
            {confirm}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

export function Amount({ text, label }: { text: string; label?: string }) {
  return (
    <div className="rounded-[8px] bg-sunken px-4 py-3 text-center">
      {label && <p className="text-sm text-muted">{label}</p>}
      <p className="text-2xl font-semibold tabular-nums">{text}</p>
    </div>
  );
}
