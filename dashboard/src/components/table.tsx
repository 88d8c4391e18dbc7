import type { ReactNode } from 'react';
import { lists } from '../texts/lists.ts';
import { Icon } from './icons.tsx';
import { Link, navigate } from '../routing.tsx';

export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  readonly end?: boolean;
  /** A sum: right-aligned, so that the digits of a column stand below each other. On a phone, other data stands below it. */
  readonly sum?: boolean;
  /** Hidden on a phone. */
  readonly wide?: boolean;
  /** Text from users. It wraps, so that a long text does not push out other columns. */
  readonly wraps?: boolean;
  /** Takes the space that the other columns leave, and truncates its content. */
  readonly fills?: boolean;
  /** The name by which the API sorts. */
  readonly sort?: string;
  /** Not shown unless it is chosen. */
  readonly extra?: boolean;
}

interface Sorting {
  /** As in the API, for example `total[desc]`. Undefined: newest first. */
  readonly sort: string | undefined;
  readonly onSort: (sort: string | undefined) => void;
}

interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly onChange: (ids: ReadonlySet<string>) => void;
}

interface TableProps<T> {
  readonly rows: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
  readonly label: string;
  readonly keyOf: (row: T) => string;
  readonly link?: (row: T) => string | null;
  readonly onOpen?: (row: T) => void;
  readonly sorting?: Sorting | undefined;
  readonly selection?: Selection | undefined;
  readonly compact?: boolean;
}

/** The first cell is the link or button. A mouse click anywhere in the row does the same. */
export function Table<T>(props: TableProps<T>) {
  const { rows, columns, label, keyOf, link, onOpen, sorting, selection, compact = false } = props;
  function open(row: T): void {
    const to = link?.(row);
    if (to) void navigate({ to });
    else onOpen?.(row);
  }
  const opens = link !== undefined || onOpen !== undefined;
  const classOf = (column: Column<T>) =>
    `${column.end ? 'text-right' : ''} ${column.sum ? 'tabular-nums md:text-right' : ''} ${column.wide ? 'max-md:hidden' : ''} ${column.wraps ? 'min-w-32 wrap-anywhere' : ''} ${column.fills ? 'w-full max-w-0 min-w-28' : ''}`;
  return (
    <div className="table-frame">
      <table className={`table ${compact ? 'compact' : ''}`} aria-label={label} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {selection && (
              <th scope="col" className="w-8">
                <SelectAll selection={selection} ids={(rows ?? []).map(keyOf)} />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.header} scope="col" className={classOf(column)} {...sortState(column, sorting)}>
                {column.sort && sorting ? <SortButton column={column} sorting={sorting} /> : column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined &&
            Array.from({ length: 6 }, (_, index) => (
              <tr key={index}>
                {selection && <td />}
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
                  !(event.target as Element).closest('a,button,input,label,[popover]') &&
                  !getSelection()?.toString()
                ) {
                  open(row);
                }
              }}
            >
              {selection && (
                <td>
                  <SelectOne selection={selection} id={keyOf(row)} />
                </td>
              )}
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

/** The direction of a column: the default order of a list is by `created_at`, newest first. */
function directionOf({ sort }: { readonly sort?: string }, sorting: Sorting | undefined): 'asc' | 'desc' | undefined {
  if (!sort || !sorting) return undefined;
  const current = sorting.sort ?? 'created_at[desc]';
  if (!current.startsWith(`${sort}[`)) return undefined;
  return current.endsWith('[asc]') ? 'asc' : 'desc';
}

function sortState(column: { readonly sort?: string }, sorting: Sorting | undefined) {
  const direction = directionOf(column, sorting);
  if (!direction) return {};
  return { 'aria-sort': direction === 'asc' ? 'ascending' : 'descending' } as const;
}

function SortButton<T>({ column, sorting }: { column: Column<T>; sorting: Sorting }) {
  const direction = directionOf(column, sorting);
  const next = direction === 'desc' ? 'asc' : 'desc';
  const sort = `${column.sort}[${next}]`;
  return (
    <button
      type="button"
      className={`group inline-flex items-center gap-1 hover:text-ink ${direction ? 'text-ink' : ''}`}
      title={next === 'asc' ? lists.sortAscending(column.header) : lists.sortDescending(column.header)}
      onClick={() => sorting.onSort(sort === 'created_at[desc]' ? undefined : sort)}
    >
      {column.header}
      <span className={direction ? '' : 'opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100'}>
        <Icon name={direction === 'asc' ? 'up' : 'down'} size={12} />
      </span>
    </button>
  );
}

function SelectAll({ selection, ids }: { selection: Selection; ids: readonly string[] }) {
  const chosen = ids.filter((id) => selection.ids.has(id)).length;
  return (
    <input
      type="checkbox"
      className="size-4 align-middle"
      aria-label={lists.selectAll}
      checked={chosen > 0 && chosen === ids.length}
      ref={(input) => {
        if (input) input.indeterminate = chosen > 0 && chosen < ids.length;
      }}
      onChange={({ target }) => {
        const others = [...selection.ids].filter((id) => !ids.includes(id));
        selection.onChange(new Set(target.checked ? [...others, ...ids] : others));
      }}
    />
  );
}

function SelectOne({ selection, id }: { selection: Selection; id: string }) {
  return (
    <input
      type="checkbox"
      className="size-4 align-middle"
      aria-label={lists.select}
      checked={selection.ids.has(id)}
      onChange={({ target }) => {
        const others = [...selection.ids].filter((other) => other !== id);
        selection.onChange(new Set(target.checked ? [...others, id] : others));
      }}
    />
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
      <Link to={to} className="font-medium hover:underline" data-opener>
        {content}
      </Link>
    );
  }
  if (!onOpen) return content;
  return (
    <button type="button" className="text-left font-medium hover:underline" data-opener onClick={() => onOpen(row)}>
      {content}
    </button>
  );
}

/** Values that have their own column on wide screens. */
export function OnPhone({ children, roomy = false }: { children: ReactNode; roomy?: boolean }) {
  const width = roomy ? 'max-w-56' : 'max-w-40';
  return <span className={`block ${width} truncate text-sm font-normal text-muted md:hidden`}>{children}</span>;
}
