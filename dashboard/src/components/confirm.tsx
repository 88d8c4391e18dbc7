import type { ReactNode } from 'react';
import { common } from '../texts/common.ts';
import { Button } from './button.tsx';
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
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <div>{children}</div>
        {amount && <Amount text={amount} />}
        {action.error && <ErrorNote error={action.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
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
