import { useState } from 'react';
import { call } from './api.ts';
import { useAction } from './components/form.tsx';
import { toast } from './components/toasts.tsx';
import { useGet } from './data.ts';
import { useSignedIn } from './session.ts';
import { lists } from './texts/lists.ts';
import type { SavedView } from './types.ts';

/** What a member chose for a list. Columns and row height depend on the screen, so they are kept in the browser. */
export interface ListChoices {
  readonly columns?: readonly string[];
  readonly compact?: boolean;
}

function read(key: string): ListChoices {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '{}');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

export function useListChoices(list: string): [ListChoices, (changes: ListChoices) => void] {
  const { session, company } = useSignedIn();
  const key = `svc.list.${session.user.id}.${company.id}.${list}`;
  const [state, setState] = useState({ key, choices: read(key) });
  if (state.key !== key) setState({ key, choices: read(key) });
  function change(changes: ListChoices): void {
    // Read again: another tab may have changed it meanwhile.
    const choices = { ...read(key), ...changes };
    localStorage.setItem(key, JSON.stringify(choices));
    setState({ key, choices });
  }
  return [state.choices, change];
}

const path = '/dashboard/saved_views';

/** The views of this member in this company. The server keeps them, so that they are on every device. */
export function useSavedViews(list: string, enabled: boolean) {
  const { data } = useGet<{ data: SavedView[] }>(path, {}, { enabled });
  const save = useAction<Omit<SavedView, 'id' | 'list'>, SavedView>({
    send: (view, key) => call('POST', path, { body: { list, ...view }, key }),
    onDone: () => toast(lists.viewSaved),
    tells: true,
  });
  const remove = useAction<string, unknown>({ send: (id) => call('DELETE', `${path}/${id}`), tells: true });
  return { views: (data?.data ?? []).filter((view) => view.list === list), save, remove };
}
