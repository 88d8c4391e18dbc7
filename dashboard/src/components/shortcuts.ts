import { useEffect } from 'react';
import { neededFor, placesOf } from '../navigation.ts';
import { useSignedIn } from '../session.ts';
import { navigate } from '../routing.tsx';

/** `g` and a letter open a page. */
export const pagesByLetter = {
  h: '/home',
  o: '/orders',
  c: '/customers',
  s: '/subscriptions',
  t: '/transactions',
  d: '/disputes',
  p: '/products',
  w: '/developers/webhooks',
  l: '/developers/requests',
} as const;

export const newOrder = '/orders/new';
/** How long `g` waits for its letter. */
const sequenceMs = 1_200;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable], [role="menu"]') !== null;

interface Handlers {
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}

/** Shortcuts of single keys, for those who are not typing. Lists have their own, which come first. */
export function useShortcuts({ onPalette, onHelp }: Handlers): void {
  const { company } = useSignedIn();
  useEffect(() => {
    let waitingUntilMs = 0;
    const may = (permission: string | undefined): boolean => !permission || company.permissions.includes(permission);
    const places = placesOf(company).flatMap((group) => group.places.map(({ to }) => to));
    function targetOf(key: string): string | undefined {
      if (waitingUntilMs > Date.now()) {
        waitingUntilMs = 0;
        const page: string | undefined = pagesByLetter[key as keyof typeof pagesByLetter];
        return page && places.includes(page) ? page : undefined;
      }
      return key === 'n' && may(neededFor[newOrder]) ? newOrder : undefined;
    }
    function onKey(event: KeyboardEvent): void {
      const { key } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]')) return;
      const to = targetOf(key);
      if (to) void navigate({ to });
      else if (key === 'g') waitingUntilMs = Date.now() + sequenceMs;
      else if (key === '/') onPalette();
      else if (key === '?') onHelp();
      else return;
      event.preventDefault();
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [company, onPalette, onHelp]);
}
