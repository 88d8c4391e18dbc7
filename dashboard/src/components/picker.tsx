import { Suspense, useDeferredValue, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import type { Query } from '../api.ts';
import { creations } from '../creations.ts';
import { useList } from '../data.ts';
import { useCan } from '../session.ts';
import { Combobox, type ComboboxProps } from './combobox.tsx';

interface PickerProps<T extends { readonly id: string }>
  extends Pick<
    ComboboxProps<T>,
    'label' | 'hint' | 'error' | 'textOf' | 'detailOf' | 'value' | 'placeholder' | 'autoFocus'
  > {
  readonly path: string;
  readonly query?: Query;
  /** The search parameter of the API. Without it, the first hundred objects are searched in the browser. */
  readonly searchBy?: string;
  readonly onChange: (item: T | undefined) => void;
  /** Only what exists can be chosen, for example in a filter. */
  readonly isFilter?: boolean;
}

/** Selects an object by typing a part of its name, or creates it without leaving the form. */
export function Picker<T extends { readonly id: string }>(props: PickerProps<T>) {
  const { path, query = {}, searchBy, isFilter = false, ...rest } = props;
  const { textOf, detailOf } = rest;
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [newName, setNewName] = useState<string>();
  // The dialog gives the focus back, which must not open the list again.
  const isReturning = useRef(false);
  const creation = isFilter ? undefined : creations[path];
  const canCreate = useCan(creation?.permission ?? '');
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
  function create(): void {
    isReturning.current = true;
    setNewName(text.trim());
  }
  function openList(isOpen: boolean): void {
    if (!(isOpen && isReturning.current)) setOpen(isOpen);
    if (isOpen) isReturning.current = false;
  }
  return (
    <>
      <Combobox
        {...rest}
        items={items}
        keyOf={({ id }) => id}
        text={text}
        onText={setText}
        open={open}
        onOpen={openList}
        loading={list.isFetching}
        addition={creation && canCreate ? { label: creation.label, run: create } : undefined}
      />
      {creation &&
        newName !== undefined &&
        createPortal(
          <Suspense>
            <creation.Dialog
              name={newName}
              onClose={() => setNewName(undefined)}
              onDone={(made) => rest.onChange(made as T)}
            />
          </Suspense>,
          document.body,
        )}
    </>
  );
}
