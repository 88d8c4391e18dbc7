import { useState } from 'react';
import { common } from '../texts/common.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { shortId } from '../format.ts';

async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

function useCopied(text: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  function copy(): void {
    void copyText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1600);
    });
  }
  return [copied, copy];
}

export function CopyButton({ text, label = common.copy }: { text: string; label?: string }) {
  const [copied, copy] = useCopied(text);
  return (
    <Button small icon={copied ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{copied ? common.copied : label}</span>
    </Button>
  );
}

/** A shortened ID that copies the full ID on click. */
export function CopyId({ id, whole = false }: { id: string; whole?: boolean }) {
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
      <span className="truncate">{whole ? id : shortId(id)}</span>
      <Icon name={copied ? 'check' : 'copy'} size={14} />
    </button>
  );
}

/** A secret that is shown only once. */
export function SecretOnce({ secret, note }: { secret: string; note: string }) {
  return (
    <div className="flex flex-col gap-3">
      <p className="rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{note}</p>
      <div className="flex flex-wrap items-center gap-3 rounded-[8px] border border-line bg-sunken p-3">
        <code data-testid="secret" className="min-w-0 grow font-mono text-sm break-all">
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
    </div>
  );
}
