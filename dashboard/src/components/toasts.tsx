import { useSyncExternalStore } from 'react';
import { common } from '../texts/common.ts';
import { IconButton } from './button.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}

const shownMs = 6_000;
let toasts: readonly Toast[] = [];
let counter = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number): void => change(toasts.filter((other) => other.id !== id));

export function toast(text: string, bad = false): void {
  counter += 1;
  const id = counter;
  // A new success replaces older ones; errors stay until they are dismissed.
  change([...toasts.filter((other) => other.bad).slice(-2), { id, text, bad }]);
  setTimeout(() => dismiss(id), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-[min(24rem,calc(100vw-2rem))] flex-col gap-2"
    >
      {shown.map(({ id, text, bad }) => (
        <div
          key={id}
          className={`pointer-events-auto flex items-center justify-between gap-3 rounded-[8px] border border-line py-1.5 pr-1.5 pl-4 shadow-pop ${bad ? 'bg-bad-soft text-bad' : 'bg-raised'}`}
        >
          <span>{text}</span>
          <IconButton label={common.dismiss} icon="close" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
