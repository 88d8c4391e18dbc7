import { type ReactNode, useRef } from 'react';
import { Button, IconButton } from './button.tsx';

export interface Row {
  readonly key: number;
}

interface RowsProps<T extends Row> {
  readonly rows: readonly T[];
  readonly onChange: (rows: readonly T[]) => void;
  readonly blank: (key: number) => T;
  readonly add: string;
  readonly remove: string;
  /** The minimum number of rows. */
  readonly least?: number;
  readonly children: (row: T, index: number, change: (changes: Partial<T>) => void) => ReactNode;
}

/** Rows of a form that can be added and removed. */
export function Rows<T extends Row>({ rows, onChange, blank, add, remove, least = 0, children }: RowsProps<T>) {
  const adder = useRef<HTMLDivElement>(null);
  const change = (key: number, changes: Partial<T>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...changes } : row)));
  return (
    <>
      {rows.map((row, index) => (
        <div key={row.key} className="flex items-start gap-2">
          <div className="min-w-0 grow">{children(row, index, (changes) => change(row.key, changes))}</div>
          {rows.length > least && (
            <IconButton
              className="mt-6"
              label={remove}
              icon="close"
              onClick={() => {
                onChange(rows.filter(({ key }) => key !== row.key));
                // The focused button no longer exists.
                adder.current?.querySelector('button')?.focus();
              }}
            />
          )}
        </div>
      ))}
      <div ref={adder}>
        <Button
          small
          icon="plus"
          onClick={() => onChange([...rows, blank(1 + Math.max(0, ...rows.map(({ key }) => key)))])}
        >
          {add}
        </Button>
      </div>
    </>
  );
}
