import { type ReactNode, useState } from 'react';
import { common } from '../texts/common.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { shortId } from '../format.ts';
import { toast } from './toasts.tsx';

/** Browsers offer the clipboard only over HTTPS and with permission. Otherwise, the text is selected and copied as by keyboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

const copyNow = async (text: Copied): Promise<boolean> =>
  copyText(typeof text === 'string' ? text : await text()).catch(() => false);

function copySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'sr-only';
  // Outside of an open dialog, nothing can be selected.
  (document.activeElement?.closest('dialog') ?? document.body).append(area);
  const before = document.activeElement as HTMLElement | null;
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  before?.focus();
  return copied;
}

/** A text that is not known before it is copied, for example a key that is created then. */
type Copied = string | (() => Promise<string>);

function useCopied(text: Copied, onCopied?: () => void): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  function copy(): void {
    void copyNow(text).then((done) => {
      if (!done) return toast(common.copyFailed, true);
      setCopied(true);
      onCopied?.();
      setTimeout(() => setCopied(false), 1600);
    });
  }
  return [copied, copy];
}

interface CopyButtonProps {
  readonly text: Copied;
  readonly label?: string;
  readonly onCopied?: () => void;
  /** For what people come to the page for. */
  readonly big?: boolean;
}

export function CopyButton({ text, label = common.copy, onCopied, big = false }: CopyButtonProps) {
  const [copied, copy] = useCopied(text, onCopied);
  return (
    <Button small={!big} kind={big ? 'primary' : 'plain'} icon={copied ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{copied ? common.copied : label}</span>
    </Button>
  );
}

interface CopyIdProps {
  readonly id: string;
  readonly whole?: boolean;
  /** How it is shown, for example with spaces. */
  readonly text?: string;
}

/** A shortened ID that copies the full ID on click. */
export function CopyId({ id, whole = false, text = whole ? id : shortId(id) }: CopyIdProps) {
  const [copied, copy] = useCopied(id);
  return (
    <button
      type="button"
      onClick={(event) => {
        event.stopPropagation();
        copy();
      }}
      title={id}
      className="inline-flex max-w-full items-center gap-1.5 rounded-[6px] font-mono text-[13px] text-muted hover:text-ink"
    >
      <span className="sr-only">{copied ? common.copied : common.copy} </span>
      <span className="truncate">{text}</span>
      <Icon name={copied ? 'check' : 'copy'} size={14} />
    </button>
  );
}

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string;
  readonly note: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** A secret that is shown only once. The dialog stays open until it is copied. */
export function SecretDialog({ title, secret, note, onClose, children }: SecretDialogProps) {
  const [copied, setCopied] = useState(false);
  const [tried, setTried] = useState(false);
  const close = () => (copied ? onClose() : setTried(true));
  return (
    <Dialog title={title} onClose={close}>
      <div className="flex flex-col gap-3">
        <p className="rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{note}</p>
        <div className="flex flex-wrap items-center gap-3 rounded-[8px] border border-line bg-sunken p-3">
          <code
            data-testid="secret"
            className="min-w-0 grow font-mono text-sm break-all select-all"
            onCopy={() => setCopied(true)}
          >
            {secret}
          </code>
          <CopyButton text={secret} onCopied={() => setCopied(true)} />
        </div>
        {children}
        {tried && !copied && (
          <p role="alert" className="text-bad">
            {common.copyFirst}
          </p>
        )}
        <div className="mt-1 flex justify-end">
          <Button kind="primary" disabled={!copied} onClick={close}>
            {common.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
