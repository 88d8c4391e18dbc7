import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError, type Query } from '../api.ts';
import { useFilters, useList } from '../data.ts';
import { common } from '../texts/common.ts';
import { Button } from './button.tsx';
import type { CsvColumn } from '../csv.ts';
import { CsvExport } from './csv.tsx';
import { Failure } from './page.tsx';

export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  readonly end?: boolean;
  /** Hidden on a phone. */
  readonly wide?: boolean;
  /** Text from users. It wraps, so that a long text does not push out other columns. */
  readonly wraps?: boolean;
}

interface TableProps<T> {
  readonly rows: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
  readonly label: string;
  readonly keyOf: (row: T) => string;
  readonly link?: (row: T) => string | null;
  readonly onOpen?: (row: T) => void;
}

/** The first cell is the link or button. A mouse click anywhere in the row does the same. */
export function Table<T>({ rows, columns, label, keyOf, link, onOpen }: TableProps<T>) {
  const navigate = useNavigate();
  function open(row: T): void {
    const to = link?.(row);
    if (to) void navigate({ to });
    else onOpen?.(row);
  }
  const opens = link !== undefined || onOpen !== undefined;
  const classOf = (column: Column<T>) =>
    `${column.end ? 'text-right' : ''} ${column.wide ? 'max-md:hidden' : ''} ${column.wraps ? 'min-w-32 wrap-anywhere' : ''}`;
  return (
    <div className="table-frame">
      <table className="table" aria-label={label} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col" className={classOf(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined &&
            Array.from({ length: 6 }, (_, index) => (
              <tr key={index}>
                {columns.map((column) => (
                  <td key={column.header} className={classOf(column)}>
                    <span className="skeleton w-20" />
                  </td>
                ))}
              </tr>
            ))}
          {rows?.map((row) => (
            <tr
              key={keyOf(row)}
              className={opens ? 'linked' : ''}
              onClick={(event) => {
                if (
                  opens &&
                  !(event.target as Element).closest('a,button,input,label') &&
                  !getSelection()?.toString()
                ) {
                  open(row);
                }
              }}
            >
              {columns.map((column, index) => (
                <td key={column.header} className={classOf(column)}>
                  {index === 0 && opens ? (
                    <Opener row={row} link={link} onOpen={onOpen} content={column.cell(row)} />
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface OpenerProps<T> {
  readonly row: T;
  readonly link: ((row: T) => string | null) | undefined;
  readonly onOpen: ((row: T) => void) | undefined;
  readonly content: ReactNode;
}

function Opener<T>({ row, link, onOpen, content }: OpenerProps<T>) {
  const to = link?.(row);
  if (to) {
    return (
      <Link to={to} className="font-medium hover:underline">
        {content}
      </Link>
    );
  }
  if (!onOpen) return content;
  return (
    <button type="button" className="text-left font-medium hover:underline" onClick={() => onOpen(row)}>
      {content}
    </button>
  );
}

/** Values that have their own column on wide screens. */
export function OnPhone({ children }: { children: ReactNode }) {
  return <span className="block max-w-40 truncate text-sm font-normal text-muted md:hidden">{children}</span>;
}

interface ResourceTableProps<T> extends Omit<TableProps<T>, 'rows'> {
  readonly path: string;
  readonly query?: Query;
  readonly empty: ReactNode;
  /** Shown instead of `empty` if filters are set. */
  readonly filtered?: boolean;
  readonly csv?: { readonly name: string; readonly columns: readonly CsvColumn<T>[] };
  readonly filters?: ReactNode;
  readonly everyMs?: number;
}

const pageSize = 25;

/** A paginated list of the API. The position is part of the URL. */
export function ResourceTable<T>(props: ResourceTableProps<T>) {
  const { path, query = {}, empty, filtered = false, csv, filters, everyMs, ...table } = props;
  const [address, change] = useFilters();
  const { starting_after, ending_before } = address;
  const page = useList<T>(
    path,
    { ...query, limit: pageSize, starting_after, ending_before },
    { keep: true, ...(everyMs ? { everyMs } : {}) },
  );
  const { data } = page;
  const atStart = !starting_after && !ending_before;
  const next = data?.cursors.next;
  const previous = data?.cursors.previous;
  const nothing = data?.data.length === 0;
  // Keep the filters visible on an error, because an invalid filter may have caused it.
  const mistyped = page.error instanceof ApiError && page.error.status === 400 && filtered;
  if (page.error && !data && !mistyped) return <Failure error={page.error} retry={() => void page.refetch()} />;
  return (
    <>
      {(filters || csv) && !(nothing && atStart && !filtered) && (
        <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
          {/* Two columns on a phone. */}
          <div className="flex min-w-0 flex-wrap items-end gap-3 max-sm:w-full max-sm:*:min-w-0 max-sm:*:basis-[calc(50%-0.375rem)]">
            {filters}
          </div>
          {csv && <CsvExport path={path} query={query} columns={csv.columns} name={csv.name} />}
        </div>
      )}
      <div className={page.isPlaceholderData ? 'opacity-70' : ''}>
        {page.error && !data && <Failure error={page.error} />}
        {nothing && atStart && !filtered ? empty : (data || !page.error) && <Table {...table} rows={data?.data} />}
        {nothing && (filtered || !atStart) && (
          <p className="px-5 py-10 text-center text-muted">{common.nothingFound}</p>
        )}
      </div>
      {(previous || next) && (
        <nav aria-label={common.pages} className="mt-3 flex justify-end gap-2">
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
            {common.next}
          </Button>
        </nav>
      )}
    </>
  );
}
