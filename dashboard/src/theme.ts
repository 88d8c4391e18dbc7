import { useSyncExternalStore } from 'react';

export type ThemeChoice = 'light' | 'dark' | 'system';

const storageName = 'svc.theme';
const systemDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function stored(): ThemeChoice {
  const text = localStorage.getItem(storageName);
  return text === 'light' || text === 'dark' ? text : 'system';
}

function isDark(): boolean {
  const choice = stored();
  return choice === 'dark' || (choice === 'system' && systemDark.matches);
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function chooseTheme(choice: ThemeChoice): void {
  localStorage.setItem(storageName, choice);
  applyTheme();
}

systemDark.addEventListener('change', applyTheme);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): { choice: ThemeChoice; dark: boolean } {
  return { choice: useSyncExternalStore(subscribe, stored), dark: useSyncExternalStore(subscribe, isDark) };
}
