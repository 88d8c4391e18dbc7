import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react';
import type { Query } from '../api.ts';
import { useList } from '../data.ts';
import { common } from '../texts/common.ts';

interface PickerProps<T extends { readonly id: string }> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly path: string;
  readonly query?: Query;
  /** The search parameter of the API. Without it, the first hundred objects are searched in the browser. */
  readonly searchBy?: string;
  readonly textOf: (item: T) => string;
  readonly detailOf?: (item: T) => string;
  readonly value: T | undefined;
  readonly onChange: (item: T | undefined) => void;
  readonly placeholder?: string;
  readonly autoFocus?: boolean;
}

/** Selects an object by typing a part of its name. */
export function Picker<T extends { readonly id: string }>(props: PickerProps<T>) {
  const {
    label,
    hint,
    error,
    path,
    query = {},
    searchBy,
    textOf,
    detailOf,
    value,
    onChange,
    placeholder,
    autoFocus,
  } = props;
  const id = useId();
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const list = useList<T>(
    path,
    { ...query, limit: searchBy ? 10 : 100, ...(searchBy && wanted ? { [searchBy]: wanted } : {}) },
    { enabled: open, keep: true },
  );
  const items = (list.data?.data ?? [])
    .filter(
      (item) => searchBy || `${textOf(item)} ${detailOf?.(item) ?? ''}`.toLowerCase().includes(wanted.toLowerCase()),
    )
    .slice(0, 10);

  function choose(item: T | undefined): void {
    if (!item) return;
    onChange(item);
    setText('');
    setOpen(false);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setOpen(true);
      const next = (active + step + items.length) % Math.max(items.length, 1);
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      choose(items[active]);
    } else if (event.key === 'Escape' && open) {
      event.stopPropagation();
      event.preventDefault();
      setOpen(false);
    }
  }
  return (
    <div className="relative">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        role="combobox"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-note`}
        aria-activedescendant={open && items.length > 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        autoFocus={autoFocus}
        className="control"
        placeholder={placeholder ?? common.search}
        value={open ? text : value ? textOf(value) : text}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <p id={`${id}-note`} className={`mt-1 text-sm wrap-anywhere ${error ? 'text-bad' : 'text-muted'}`}>
        {error ?? (value && detailOf ? detailOf(value) : hint)}
      </p>
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        hidden={!open}
        className="absolute top-16 right-0 left-0 z-20 max-h-64 overflow-y-auto rounded-[8px] border border-line bg-raised p-1.5 shadow-pop"
      >
        {items.map((item, index) => (
          <div
            key={item.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className="menu-item"
            // Runs before the blur of the input closes the list.
            onMouseDown={(event) => {
              event.preventDefault();
              choose(item);
            }}
          >
            <span className="grow truncate">{textOf(item)}</span>
            {detailOf && <span className="truncate text-sm text-muted">{detailOf(item)}</span>}
          </div>
        ))}
        {items.length === 0 && (
          <p className="px-2.5 py-2 text-muted">{list.isFetching ? common.loading : common.noMatch}</p>
        )}
      </div>
    </div>
  );
}
