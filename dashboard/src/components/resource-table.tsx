import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { ExportedList } from '../../../server/features/exports/columns.ts';
import { ApiError, type Query } from '../api.ts';
import { useNowMs } from '../clock.ts';
import type { CsvColumn } from '../../../server/platform/csv.ts';
import { useFilters, useGet, useList } from '../data.ts';
import { dateOnly } from '../format.ts';
import { type Filter, isSet, queryOf } from '../list-filters.ts';
import { useListKeys } from '../list-keys.ts';
import { useListChoices } from '../list-views.ts';
import { useSignedIn } from '../session.ts';
import { common } from '../texts/common.ts';
import { lists } from '../texts/lists.ts';
import type { List } from '../types.ts';
import { Button } from './button.tsx';
import { CsvExport } from './csv.tsx';
import { ExportMenu, ExportSelected } from './export-menu.tsx';
import { FilterChips, without } from './filters.tsx';
import { Icon } from './icons.tsx';
import { ListOptions, shownColumns } from './list-options.tsx';
import { Failure } from './page.tsx';
import { type Column, Table } from './table.tsx';

interface ResourceTableProps<T> {
  readonly path: string;
  readonly columns: readonly Column<T>[];
  readonly label: string;
  readonly keyOf: (row: T) => string;
  readonly link?: (row: T) => string | null;
  readonly onOpen?: (row: T) => void;
  /** Parameters that are always sent. */
  readonly query?: Query;
  readonly empty: ReactNode;
  /** The placeholder of the search field, and its parameter if that is not `q`. */
  readonly search?: { readonly placeholder: string; readonly name?: string };
  readonly filters?: readonly Filter[];
  /** The list as the server exports it. */
  readonly exports?: ExportedList;
  readonly csv?: { readonly name: string; readonly columns: readonly CsvColumn<T>[] };
  /** Further controls beside the filters. */
  readonly actions?: ReactNode;
  /** What can be done with selected rows. */
  readonly bulk?: (selected: readonly T[], done: () => void) => ReactNode;
  readonly everyMs?: number | undefined;
}

const pageSize = 25;
const typingMs = 350;
const noFilters: readonly Filter[] = [];

/** A list of the API: search, filters, order, count and position. All of it is part of the address. */
export function ResourceTable<T>(props: ResourceTableProps<T>) {
  const { path, query = {}, search, filters = noFilters, csv, exports, bulk, columns, everyMs, empty, keyOf } = props;
  const frame = useRef<HTMLDivElement>(null);
  useListKeys(frame);
  const [address, change] = useFilters();
  const nowMs = useNowMs();
  const { company } = useSignedIn();
  const [choices, choose] = useListChoices(path);
  const [selected, setSelected] = useState<ReadonlyMap<string, T>>(new Map());
  const { starting_after, ending_before } = address;
  const sort = columns.some((column) => column.sort) ? address.sort : undefined;
  const searchName = search?.name ?? 'q';
  const text = search && address[searchName];
  const dated = filters.some((filter) => filter.kind === 'dates' && address.date !== undefined);
  const wanted = {
    ...query,
    ...queryOf(filters, address, { ms: nowMs ?? Date.now(), zone: company.time_zone }),
    ...(search && { [searchName]: text }),
  };
  const page = useList<T>(
    path,
    { ...wanted, sort, limit: pageSize, starting_after, ending_before },
    { keep: true, enabled: !dated || nowMs !== undefined, ...(everyMs ? { everyMs } : {}) },
  );
  const { data } = page;
  const atStart = !starting_after && !ending_before;
  const filtered = Boolean(text) || filters.some((filter) => isSet(filter, address));
  const nothing = data?.data.length === 0 && !data.has_more;
  // Keep the filters visible on an error, because an invalid filter may have caused it.
  const mistyped = page.error instanceof ApiError && page.error.status === 400 && filtered;
  if (page.error && !data && !mistyped) return <Failure error={page.error} retry={() => void page.refetch()} />;
  const isEmpty = nothing && atStart && !filtered;
  const clear = () => change({ ...without(filters), ...(search && { [searchName]: undefined }) });
  const shown = shownColumns(columns, choices);
  const isPlain = !search && filters.length === 0;
  const selection = (bulk || exports) && {
    ids: new Set(selected.keys()),
    onChange: (ids: ReadonlySet<string>) => {
      const known = new Map([...selected, ...(data?.data ?? []).map((row) => [keyOf(row), row] as const)]);
      setSelected(new Map([...known].filter(([id]) => ids.has(id))));
    },
  };
  return (
    <div ref={frame}>
      {!isEmpty && (!isPlain || csv || props.actions) && (
        <div className="mb-3 flex flex-wrap items-center gap-2">
          {search && <SearchField name={searchName} placeholder={search.placeholder} />}
          <div
            className={`flex min-w-0 items-center gap-2 max-sm:-my-1 max-sm:overflow-x-auto max-sm:py-1 sm:flex-wrap ${search ? 'order-last w-full' : 'max-sm:flex-1 max-sm:basis-0'}`}
          >
            <FilterChips filters={filters} />
            {filtered && (
              <Button small kind="quiet" className="shrink-0" onClick={clear}>
                {lists.clear}
              </Button>
            )}
          </div>
          <div className="ml-auto flex items-center gap-2">
            {props.actions}
            {exports && <ExportMenu list={exports} query={{ ...wanted, sort }} />}
            {csv && <CsvExport path={path} query={{ ...wanted, sort }} columns={csv.columns} name={csv.name} />}
            {!isPlain && <ListOptions list={path} columns={columns} choices={choices} onChange={choose} />}
          </div>
        </div>
      )}
      {selected.size > 0 && (
        <div
          role="region"
          aria-label={lists.selected(selected.size)}
          className="mb-3 flex flex-wrap items-center gap-2"
        >
          <span className="text-sm font-medium" aria-live="polite">
            {lists.selected(selected.size)}
          </span>
          {bulk?.([...selected.values()], () => setSelected(new Map()))}
          {exports && <ExportSelected list={exports} rows={[...selected.values()]} />}
          <Button small kind="quiet" onClick={() => setSelected(new Map())}>
            {lists.clearSelection}
          </Button>
        </div>
      )}
      {/* The text of an empty list takes the place of its controls too. It is new on the page, not moved. */}
      <div key={isEmpty ? 'empty' : 'rows'} className={page.isPlaceholderData ? 'opacity-70' : ''}>
        {page.error && !data && <Failure error={page.error} />}
        {isEmpty
          ? empty
          : (data || !page.error) && (
              <Table
                {...props}
                columns={shown}
                rows={data?.data}
                compact={choices.compact ?? false}
                selection={selection}
                sorting={{
                  sort,
                  onSort: (next) => change({ sort: next, starting_after: undefined, ending_before: undefined }),
                }}
              />
            )}
        {data?.data.length === 0 && data.has_more && (
          <p className="px-5 py-10 text-center text-muted">{lists.nothingSoFar}</p>
        )}
        {nothing && !isEmpty && (
          <div className="flex flex-col items-center gap-3 px-5 py-10 text-center text-muted">
            <p>{common.nothingFound}</p>
            {filtered && <Button onClick={clear}>{lists.clear}</Button>}
          </div>
        )}
      </div>
      {data && !isEmpty && (
        <Footer path={path} query={wanted} page={data} isPlain={isPlain} sort={sort} change={change} />
      )}
    </div>
  );
}

function SearchField({ name, placeholder }: { name: string; placeholder: string }) {
  const [address, change] = useFilters();
  const id = useId();
  const current = address[name] ?? '';
  const [text, setText] = useState(current);
  const [seen, setSeen] = useState(current);
  if (seen !== current) {
    setSeen(current);
    setText(current);
  }
  useEffect(() => {
    if (text.trim() === current) return undefined;
    const next = { [name]: text.trim() || undefined, starting_after: undefined, ending_before: undefined };
    const timer = setTimeout(() => change(next), typingMs);
    return () => clearTimeout(timer);
  });
  return (
    <div className="relative max-sm:min-w-0 max-sm:flex-1 sm:w-96">
      <label htmlFor={id} className="sr-only">
        {lists.search}
      </label>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-muted">
        <Icon name="search" size={16} />
      </span>
      <input
        id={id}
        type="search"
        value={text}
        placeholder={placeholder}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        className="control pl-8 text-ellipsis"
      />
    </div>
  );
}

interface FooterProps<T> {
  readonly path: string;
  readonly query: Query;
  readonly page: List<T>;
  /** Without search and filters, for example a list on the page of another object. */
  readonly isPlain: boolean;
  readonly sort: string | undefined;
  readonly change: (changes: Readonly<Record<string, string | undefined>>) => void;
}

/** The count, the way to other pages, and how far a search got. */
function Footer<T>({ path, query, page, isPlain, sort, change }: FooterProps<T>) {
  const { next, previous } = page.cursors;
  const isCut = page.has_more && page.data.length < pageSize;
  if (isPlain && !next && !previous) return null;
  return (
    <nav aria-label={common.pages} className="mt-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
      <p className="text-sm text-muted">
        {!isPlain && page.data.length > 0 && <Count path={path} query={query} shown={page.data.length} />}{' '}
        {isCut && (sort || !next ? lists.searchedPart : lists.searchedUntil(dateOnly(createdAt(next))))}
      </p>
      {(previous || next) && (
        <div className="flex gap-2">
          <Button
            small
            icon="left"
            disabled={!previous}
            onClick={() => change({ ending_before: previous || undefined, starting_after: undefined })}
          >
            {common.previous}
          </Button>
          <Button
            small
            disabled={!next}
            onClick={() => change({ starting_after: next || undefined, ending_before: undefined })}
          >
            {isCut ? lists.searchFurther : common.next}
          </Button>
        </div>
      )}
    </nav>
  );
}

interface Counted {
  readonly count: number;
  readonly exact: boolean;
}

/** An ID begins with its creation time. */
const createdAt = (id: string): string =>
  new Date(Number.parseInt(id.replace('evt_', '').replaceAll('-', '').slice(0, 12), 16)).toISOString();

const number = new Intl.NumberFormat('en-US');

/** A request of its own, so that the list does not wait for it. */
function Count({ path, query, shown }: { path: string; query: Query; shown: number }) {
  const { expand: _expand, ...filters } = query;
  // The lists of another object are not counted.
  const [, , name, ...others] = path.split('/');
  const { data } = useGet<Counted>(`/dashboard/counts/${name}`, filters, { keep: true, enabled: others.length === 0 });
  if (!data) return lists.shown(number.format(shown));
  return lists.showing(number.format(shown), `${number.format(data.count)}${data.exact ? '' : '+'}`);
}
