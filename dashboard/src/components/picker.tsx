import { useDeferredValue, useState } from 'react';
import type { Query } from '../api.ts';
import { useList } from '../data.ts';
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
}

/** Selects an object by typing a part of its name. */
export function Picker<T extends { readonly id: string }>(props: PickerProps<T>) {
  const { path, query = {}, searchBy, ...rest } = props;
  const { textOf, detailOf } = rest;
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
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
  return (
    <Combobox
      {...rest}
      items={items}
      keyOf={({ id }) => id}
      text={text}
      onText={setText}
      open={open}
      onOpen={setOpen}
      loading={list.isFetching}
    />
  );
}
