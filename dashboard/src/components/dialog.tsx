import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { mayDiscard } from '../unsaved.ts';
import { IconButton } from './button.tsx';
import { common } from '../texts/common.ts';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** A drawer opens from the right and shows details. A dialog asks for one decision. */
  readonly drawer?: boolean;
  readonly wide?: boolean;
}

/** Uses the browser's own dialog, which traps the focus, closes on Escape and makes the page behind it inert. */
export function Dialog({ title, onClose, children, drawer = false, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  async function close(): Promise<void> {
    if (await mayDiscard(element.current)) onClose();
  }
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement as HTMLElement | null;
    if (dialog && !dialog.open) dialog.showModal();
    // The browser would focus the first button, which closes the dialog.
    dialog?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      dialog?.close();
      opener?.focus();
    };
  }, []);
  const width = wide ? 'sm:max-w-3xl' : drawer ? 'sm:max-w-2xl' : 'sm:max-w-lg';
  const place = drawer
    ? 'drawer ml-auto h-dvh max-h-dvh rounded-none sm:rounded-l-[12px]'
    : 'appears m-auto max-h-[calc(100dvh-2rem)] rounded-[12px]';
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      onCancel={(event) => {
        // A file input inside fires its own cancel event, which bubbles.
        if (event.target !== element.current) return;
        event.preventDefault();
        void close();
      }}
      onMouseDown={(event) => {
        // A click beside the dialog does not close it, so that no input or one-time secret is lost.
        if (drawer && event.target === element.current) void close();
      }}
      className={`w-[calc(100vw-1rem)] overflow-y-auto border border-line bg-raised p-0 shadow-pop ${width} ${place}`}
    >
      <div className="flex min-h-full flex-col">
        <header className="sticky top-0 z-10 flex items-center justify-between gap-4 border-b border-line bg-raised py-3 pr-3 pl-5">
          <h2 id={heading} className="text-lg font-semibold">
            {title}
          </h2>
          <IconButton label={common.close} icon="close" onClick={() => void close()} />
        </header>
        <div className="grow p-5">{children}</div>
      </div>
    </dialog>
  );
}
