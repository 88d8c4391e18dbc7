import type { ReactNode } from 'react';
import { common, shell } from '../texts/common.ts';
import { Button, TextLink } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote, useAction } from './form.tsx';
import { toast } from './toasts.tsx';

interface ConfirmProps<Result> {
  readonly title: string;
  /** What will happen, in words. */
  readonly children: ReactNode;
  /** Of a move of money: how much. */
  readonly amount?: string;
  readonly confirm: string;
  readonly danger?: boolean;
  readonly done?: string;
  readonly send: (key: string) => Promise<Result>;
  readonly onDone?: (result: Result) => void;
  readonly onClose: () => void;
}

export function Confirm<Result>(props: ConfirmProps<Result>) {
  const { title, children, amount, confirm, danger = false, done, send, onDone, onClose } = props;
  const action = useAction<null, Result>({
    send: (_input, key) => send(key),
    onDone: (result) => {
      if (done) toast(done);
      onClose();
      onDone?.(result);
    },
  });
  // Whoever has said yes stays to see what came of it.
  const close = () => {
    if (!action.busy) onClose();
  };
  return (
    <Dialog title={title} onClose={close}>
      <div className="flex flex-col gap-4">
        <div>{children}</div>
        {amount && <Amount text={amount} />}
        {action.error && <ErrorNote error={action.error} />}
        {action.error?.undecided && (
          <p className="text-sm text-muted">
            {common.notTwice} <TextLink to="/in-doubt">{shell.places.inDoubt}</TextLink>
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button disabled={action.busy} onClick={close}>
            {common.cancel}
          </Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={action.busy} onClick={() => void action.run(null)}>
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
