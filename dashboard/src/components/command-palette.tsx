import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react';
import { type Action, actionsFor } from '../actions.ts';
import { useGet, useList, useDebounced } from '../data.ts';
import { lowerWords, money, words } from '../format.ts';
import { pageOfFound, placesOf } from '../navigation.ts';
import { recentPlaces } from '../recent.ts';
import { useCan, useSignedIn } from '../session.ts';
import { common, shell } from '../texts/common.ts';
import type { Found, Order } from '../types.ts';
import { Icon, type IconName } from './icons.tsx';
import { navigate, useLocation } from '../routing.tsx';

interface Entry {
  readonly key: string;
  readonly title: string;
  readonly subtitle: string | null;
  readonly icon: IconName;
  readonly group: string;
  readonly open: () => void;
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
const plain = (text: string): string => (/^[a-z]+(_[a-z]+)*$/.test(text) ? lowerWords(text) : text);

/** Every word that was typed occurs. */
const matches = (text: string, typed: string): boolean =>
  typed.split(/\s+/).every((word) => text.toLowerCase().includes(word));

interface PaletteProps {
  readonly onClose: () => void;
  /** Actions of the shell, which know more than a table can. */
  readonly actions: readonly Action[];
}

export function CommandPalette({ onClose, actions }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { entries, isLoading } = useEntries(text.trim(), actions);
  // As in dialog.tsx, so that the focus returns to the button.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  const selected = Math.min(chosen, Math.max(entries.length - 1, 0));

  function open(entry: Entry | undefined): void {
    if (!entry) return;
    onClose();
    entry.open();
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
      className="appears mx-auto mt-[10vh] w-[calc(100vw-1rem)] max-w-2xl rounded-[12px] border border-line bg-raised p-0 shadow-pop"
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
          className="min-h-12 min-w-0 grow bg-transparent text-lg text-ellipsis outline-none placeholder:text-muted"
        />
      </div>
      <div id={list} role="listbox" aria-label={shell.searchTitle} className="max-h-[56vh] overflow-y-auto p-2">
        {entries.map((entry, index) => (
          <div
            key={entry.key}
            id={`${list}-${index}`}
            data-entry={index}
            // The first of its group has the name of the group above it.
            data-group={entries[index - 1]?.group === entry.group ? undefined : entry.group}
            role="option"
            tabIndex={-1}
            aria-selected={index === selected}
            className="menu-item palette-item"
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
          <p className="px-3 py-6 text-center text-muted">{isLoading ? common.loading : common.noMatch}</p>
        )}
      </div>
    </dialog>
  );
}

const ordersMax = 5;
const searchedLength = 2;

function useEntries(
  typed: string,
  actions: readonly Action[],
): { readonly entries: readonly Entry[]; readonly isLoading: boolean } {
  const { company } = useSignedIn();
  const { pathname } = useLocation();
  const debounced = useDebounced(typed);
  const canReadOrders = useCan('orders:read');
  const isSearched = debounced.length >= searchedLength && typed.length >= searchedLength;
  const answer = useGet<{ data: readonly Found[] }>(
    '/dashboard/search',
    { q: debounced },
    { enabled: isSearched, keep: true },
  );
  const orders = useList<Order>(
    '/v1/orders',
    { q: debounced, limit: ordersMax },
    { enabled: isSearched && canReadOrders, keep: true },
  );
  const go = (to: string, open?: string) => () => void navigate({ to, ...(open && { search: { open } }) });

  const found = (isSearched ? (answer.data?.data ?? []) : []).map((hit) => ({
    key: `found ${hit.id}`,
    title: hit.title,
    subtitle: [words(hit.type), hit.subtitle && plain(hit.subtitle)].filter(Boolean).join(' · '),
    icon: icons[hit.type],
    group: shell.found,
    open: go(pageOfFound[hit.type](hit.id)),
  }));
  const foundOrders = (isSearched ? (orders.data?.data ?? []) : []).map(
    ({ id, order_number, total, currency, status }) => ({
      key: `found ${id}`,
      title: order_number,
      subtitle: [words('order'), money(total, currency), lowerWords(status)].join(' · '),
      icon: icons.order,
      group: shell.found,
      open: go(pageOfFound.order(id)),
    }),
  );
  const request = /^req_\w+$/.exec(typed)?.[0];
  const requests = request
    ? [
        {
          key: 'request',
          title: request,
          subtitle: shell.places.requests,
          icon: 'list' as const,
          group: shell.found,
          open: () => void navigate({ to: '/developers/requests', search: { request_id: request } }),
        },
      ]
    : [];
  const recent = (typed === '' ? recentPlaces(company.id) : []).map(({ to, title, subtitle }) => ({
    key: `recent ${to}`,
    title,
    subtitle,
    icon: 'sandbox' as const,
    group: shell.recent,
    open: go(to),
  }));
  const lower = typed.toLowerCase();
  const done = actionsFor(company, pathname, actions)
    .filter((action) => matches(`${action.title} ${action.words}`, lower))
    .map(({ title, icon, to, open, href, run }) => ({
      key: `action ${title}`,
      title,
      subtitle: null,
      icon,
      group: shell.actionGroup,
      open: run ?? (href ? () => location.assign(href) : go(to ?? '/home', open)),
    }));
  const pages = placesOf(company)
    .flatMap(({ places, label }) => places.map((place) => ({ ...place, group: label })))
    .filter(({ label, group, words: more = '' }) => matches(`${label} ${group ?? ''} ${more}`, lower))
    .map(({ to, label, group, icon }) => ({
      key: `page ${to}`,
      title: label,
      subtitle: group,
      icon,
      group: shell.pages,
      open: go(to),
    }));
  const isLoading = typed !== debounced || answer.isFetching || orders.isFetching;
  // The list also searches what the palette does not, for example names of products.
  const further = (isSearched && !isLoading && canReadOrders ? [typed] : []).map((q) => ({
    key: 'search orders',
    title: shell.actions.searchOrders(q),
    subtitle: null,
    icon: 'search' as const,
    group: shell.actionGroup,
    open: () => void navigate({ to: '/orders', search: { q } }),
  }));
  const unique = new Map([...requests, ...found, ...foundOrders].map((entry) => [entry.key, entry]));
  return {
    entries: [...recent, ...unique.values(), ...done, ...pages, ...further],
    isLoading,
  };
}
