import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue, useId, useLayoutEffect, useRef, useState } from 'react';
import { useGet } from '../data.ts';
import { words } from '../format.ts';
import { pageOfFound, placesOf } from '../navigation.ts';
import { useSignedIn } from '../session.ts';
import { common, shell } from '../texts/common.ts';
import type { Found } from '../types.ts';
import { Icon, type IconName } from './icons.tsx';

interface Entry {
  readonly to: string;
  readonly title: string;
  readonly subtitle: string | null;
  readonly icon: IconName;
  readonly group: string;
}

const icons: Readonly<Record<Found['type'], IconName>> = {
  customer: 'customers',
  order: 'orders',
  product: 'products',
  subscription: 'subscriptions',
  plan: 'plans',
  coupon: 'coupons',
  event: 'developers',
  transaction: 'transactions',
};

/** Formats a status as everywhere else, and leaves names and addresses unchanged. */
const plain = (text: string): string => (/^[a-z]+(_[a-z]+)*$/.test(text) ? words(text).toLowerCase() : text);

export function CommandPalette({ onClose }: { onClose: () => void }) {
  const { company } = useSignedIn();
  const navigate = useNavigate();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const answer = useGet<{ data: readonly Found[] }>(
    '/dashboard/search',
    { q: wanted },
    { enabled: wanted.length > 1, keep: true },
  );
  // As in dialog.tsx, so that the focus returns to the button.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);

  const pages: Entry[] = placesOf(company)
    .flatMap(({ places, label }) => places.map((place) => ({ ...place, subtitle: label })))
    .filter(({ label, subtitle }) => `${label} ${subtitle ?? ''}`.toLowerCase().includes(wanted.toLowerCase()))
    .map(({ to, label, subtitle, icon }) => ({ to, title: label, subtitle, icon, group: shell.pages }));
  const found: Entry[] = (wanted.length > 1 ? (answer.data?.data ?? []) : []).map((hit) => ({
    to: pageOfFound[hit.type](hit.id),
    title: hit.title,
    subtitle: [words(hit.type), hit.subtitle && plain(hit.subtitle)].filter(Boolean).join(' · '),
    icon: icons[hit.type],
    group: shell.found,
  }));
  const entries = [...found, ...pages];
  const selected = Math.min(chosen, Math.max(entries.length - 1, 0));

  function open(entry: Entry | undefined): void {
    if (!entry) return;
    onClose();
    void navigate({ to: entry.to });
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = (selected + step + entries.length) % Math.max(entries.length, 1);
      setChosen(next);
      document.querySelector(`[data-entry="${next}"]`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(entries[selected]);
    }
  }
  return (
    <dialog
      ref={dialog}
      aria-label={shell.searchTitle}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      className="mx-auto mt-[12vh] w-[calc(100vw-1rem)] max-w-xl rounded-[12px] border border-line bg-raised p-0 shadow-pop"
    >
      <div className="flex items-center gap-3 border-b border-line px-4">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={entries.length > 0 ? `${list}-${selected}` : undefined}
          aria-label={shell.searchTitle}
          placeholder={shell.searchHint}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
          className="min-h-12 grow bg-transparent outline-none placeholder:text-muted"
        />
      </div>
      <div id={list} role="listbox" aria-label={shell.searchTitle} className="max-h-[50vh] overflow-y-auto p-2">
        {entries.map((entry, index) => (
          <div
            key={`${entry.to}-${index}`}
            id={`${list}-${index}`}
            data-entry={index}
            role="option"
            tabIndex={-1}
            aria-selected={index === selected}
            className="menu-item"
            onMouseMove={() => setChosen(index)}
            onClick={() => open(entry)}
            onKeyDown={onKeyDown}
          >
            <Icon name={entry.icon} />
            <span className="min-w-0 grow truncate">{entry.title}</span>
            {entry.subtitle && <span className="truncate text-sm text-muted">{entry.subtitle}</span>}
          </div>
        ))}
        {entries.length === 0 && (
          <p className="px-3 py-6 text-center text-muted">{answer.isFetching ? common.loading : common.noMatch}</p>
        )}
      </div>
    </dialog>
  );
}
