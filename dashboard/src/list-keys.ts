import { type RefObject, useEffect } from 'react';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable], [role="menu"]') !== null;

/** `j` and `k` move between the rows of a list, whose link then opens with Enter. `/` goes to its search field. */
export function useListKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return;
      if (document.querySelector('dialog[open]')) return;
      if (key === '/') {
        const search = list.current?.querySelector<HTMLInputElement>('input[type="search"]');
        search?.focus();
        search?.select();
        if (search) event.preventDefault();
        return;
      }
      const step = { j: 1, k: -1 }[key];
      if (step === undefined) return;
      const openers = [...(list.current?.querySelectorAll<HTMLElement>('[data-opener]') ?? [])];
      const current = openers.findIndex((opener) => opener === document.activeElement);
      const next = openers[current === -1 ? (step === 1 ? 0 : openers.length - 1) : current + step];
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: 'nearest' });
    }
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [list]);
}
