import {
  keepPreviousData,
  type Query as CachedQuery,
  useIsFetching,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { call, type Query } from './api.ts';
import { useSignedIn } from './session.ts';
import type { List } from './types.ts';
import { navigate, useSearch } from './routing.tsx';

/** Reads from the API. Cached data belongs to a company, so that switching never shows data of the other one. */

/** Polling interval for pages whose data changes. */
export const lookEveryMs = 4_000;

interface ReadOptions {
  readonly enabled?: boolean;
  readonly keep?: boolean;
  readonly everyMs?: number;
}

export function useGet<T>(
  path: string,
  query: Query = {},
  { enabled = true, keep = false, everyMs }: ReadOptions = {},
) {
  const { company } = useSignedIn();
  return useQuery({
    queryKey: [company.id, path, query],
    queryFn: ({ signal }) => call<T>('GET', path, { query, signal }),
    enabled,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...(everyMs ? { refetchInterval: everyMs } : {}),
  });
}

/** Several objects, with the same cache as `useGet`. */
export function useGetAll<T>(paths: readonly string[], { enabled = true }: Pick<ReadOptions, 'enabled'> = {}) {
  const { company } = useSignedIn();
  return useQueries({
    queries: paths.map((path) => ({
      queryKey: [company.id, path, {}],
      queryFn: ({ signal }: { signal: AbortSignal }) => call<T>('GET', path, { signal }),
      enabled,
    })),
  });
}

export function useList<T>(path: string, query: Query = {}, options: ReadOptions = {}) {
  return useGet<List<T>>(path, query, options);
}

const firstData = { predicate: ({ state }: CachedQuery) => state.data === undefined };

/**
 * Whether all data of a page has arrived for the first time. A page of parts that load on their own waits for it, so that
 * no part pushes down another one. Known at once if the main data is still there from an earlier visit. Parts that load only after
 * the main data begin when `isReady`.
 */
export function useFirstData(path: string, isReady = true): boolean {
  const { company } = useSignedIn();
  const client = useQueryClient();
  const [isThere, setThere] = useState(() =>
    client.getQueriesData({ queryKey: [company.id, path] }).some(([, data]) => data !== undefined),
  );
  const waiting = useIsFetching(firstData);
  useEffect(() => {
    // An answer can lead to the next request, which has begun by now.
    if (isReady && client.isFetching(firstData) === 0) setThere(true);
  }, [client, waiting, isReady]);
  return isThere;
}

export type Filters = Readonly<Record<string, string>>;

/** The filters of a list are part of its URL, so that it can be shared and bookmarked. */
export function useFilters(): [Filters, (changes: Readonly<Record<string, string | undefined>>) => void] {
  // The address also names the company. The router keeps it.
  const { company: _, ...filters } = useSearch();
  function change(changes: Readonly<Record<string, string | undefined>>): void {
    const next = Object.fromEntries(
      Object.entries({ ...filters, ...changes }).filter(([, value]) => value !== undefined && value !== ''),
    ) as Record<string, string>;
    void navigate({ to: '.', search: next, replace: !('starting_after' in changes || 'ending_before' in changes) });
  }
  return [filters, change];
}

/** Opens a dialog of a page for a link such as `/team?open=add`, and removes that from the address. */
export function useOpening(what: string, open: () => void): void {
  const [{ open: wanted }, change] = useFilters();
  useEffect(() => {
    if (wanted !== what) return;
    open();
    change({ open: undefined });
  }, [wanted]);
}

const typingMs = 300;

/** A text after a short pause in typing. */
export function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}
