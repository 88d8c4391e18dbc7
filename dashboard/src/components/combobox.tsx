import { type KeyboardEvent, useId, useState } from 'react';
import { common } from '../texts/common.ts';
import { Icon } from './icons.tsx';

export interface ComboboxProps<T> {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  /** The items that match the text. */
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly textOf: (item: T) => string;
  readonly detailOf?: ((item: T) => string) | undefined;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  readonly loading?: boolean;
  readonly value: T | undefined;
  readonly onChange: (item: T) => void;
  readonly name?: string;
  readonly placeholder?: string | undefined;
  readonly autoFocus?: boolean | undefined;
  /** A last choice that creates what the list lacks. */
  readonly addition?: { readonly label: string; readonly run: () => void } | undefined;
}

/** A text field with a list of choices that match what is typed. */
export function Combobox<T>(props: ComboboxProps<T>) {
  const { label, hint, error, items, keyOf, textOf, detailOf, text, onText, open, onOpen, loading } = props;
  const { value, onChange, name, placeholder = common.search, autoFocus, addition } = props;
  const id = useId();
  const [active, setActive] = useState(0);
  const choices = items.length + (addition ? 1 : 0);

  function choose(index: number): void {
    const item = items[index];
    if (item) onChange(item);
    else if (index === items.length && addition) addition.run();
    else return;
    onText('');
    onOpen(false);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      onOpen(true);
      const next = (active + step + choices) % Math.max(choices, 1);
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      choose(active);
    } else if (event.key === 'Escape' && open) {
      event.stopPropagation();
      event.preventDefault();
      onOpen(false);
    }
  }
  return (
    <div className="relative">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        name={name}
        role="combobox"
        aria-expanded={open}
        aria-controls={open ? `${id}-list` : undefined}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-note`}
        aria-activedescendant={open && choices > 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        autoFocus={autoFocus}
        className="control"
        placeholder={placeholder}
        value={open ? text : value ? textOf(value) : text}
        onFocus={() => onOpen(true)}
        onClick={() => onOpen(true)}
        onBlur={() => onOpen(false)}
        onChange={(event) => {
          onText(event.target.value);
          setActive(0);
          onOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <p id={`${id}-note`} className={`mt-1 text-sm wrap-anywhere empty:hidden ${error ? 'text-bad' : 'text-muted'}`}>
        {error ?? (value && detailOf ? detailOf(value) : hint)}
      </p>
      {open && (
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          className="absolute top-16 right-0 left-0 z-20 max-h-64 overflow-y-auto rounded-[8px] border border-line bg-raised p-1.5 shadow-pop"
        >
          {items.map((item, index) => (
            <div
              key={keyOf(item)}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              className="menu-item"
              // Runs before the blur of the input closes the list.
              onMouseDown={(event) => {
                event.preventDefault();
                choose(index);
              }}
            >
              <span className="grow truncate">{textOf(item)}</span>
              {detailOf && <span className="truncate text-sm text-muted">{detailOf(item)}</span>}
            </div>
          ))}
          {items.length === 0 && <p className="px-2.5 py-2 text-muted">{loading ? common.loading : common.noMatch}</p>}
          {addition && (
            <div
              id={`${id}-${items.length}`}
              role="option"
              tabIndex={-1}
              aria-selected={active === items.length}
              className="menu-item font-medium text-accent-ink"
              onMouseDown={(event) => {
                event.preventDefault();
                choose(items.length);
              }}
            >
              <Icon name="plus" />
              {addition.label}
            </div>
          )}
        </div>
      )}
    </div>
  );
}
