import { useState } from 'react';
import { useSignedIn } from './session.ts';

/**
 * What a member chose for a list: hidden columns, row height and saved views. It is kept in the browser: a view can contain names and
 * emails that were searched for, which then stay on this device. The address of a page holds its filters, so a view can be shared.
 */

export interface SavedView {
  readonly name: string;
  /** The filters and the order, as in the address. */
  readonly search: Readonly<Record<string, string>>;
}

export interface ListChoices {
  readonly columns?: readonly string[];
  readonly compact?: boolean;
  readonly views?: readonly SavedView[];
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
    // Read again: another tab may have saved a view meanwhile.
    const choices = { ...read(key), ...changes };
    localStorage.setItem(key, JSON.stringify(choices));
    setState({ key, choices });
  }
  return [state.choices, change];
}
