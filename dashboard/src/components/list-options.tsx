import { type FormEvent, useId, useState } from 'react';
import { useFilters } from '../data.ts';
import { type ListChoices, useSavedViews } from '../list-views.ts';
import { common } from '../texts/common.ts';
import { lists } from '../texts/lists.ts';
import type { SavedView } from '../types.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { Popover } from './popover.tsx';
import type { Column } from './table.tsx';

interface OptionsProps<T> {
  /** The path of the list. */
  readonly list: string;
  readonly columns: readonly Column<T>[];
  readonly choices: ListChoices;
  readonly onChange: (changes: ListChoices) => void;
}

/** The columns that are shown. The first one opens the row, so it stays. */
export function shownColumns<T>(columns: readonly Column<T>[], { columns: chosen }: ListChoices): Column<T>[] {
  return columns.filter(({ header, extra }, index) => index === 0 || (chosen ? chosen.includes(header) : !extra));
}

/** Columns, row height and saved views of a list. */
export function ListOptions<T>({ list, columns, choices, onChange }: OptionsProps<T>) {
  const [naming, setNaming] = useState(false);
  const [open, setOpen] = useState(false);
  const [address, change] = useFilters();
  const { views, save: saving, remove: removing } = useSavedViews(list, open);
  const shown = shownColumns(columns, choices).map(({ header }) => header);
  function apply({ search }: SavedView): void {
    const cleared = Object.fromEntries(Object.keys(address).map((name) => [name, undefined]));
    change({ ...cleared, ...search });
    setOpen(false);
  }
  function save(name: string): void {
    const { starting_after: _after, ending_before: _before, open: _open, ...search } = address;
    void saving.run({ name, search }).then((saved) => saved && setNaming(false));
  }
  return (
    <>
      <Popover
        label={lists.view}
        align="end"
        open={open}
        onOpenChange={setOpen}
        trigger={
          <Button small icon="settings">
            <span className="max-sm:sr-only">{lists.view}</span>
          </Button>
        }
      >
        <section aria-label={lists.views} className="mb-3 border-b border-line pb-2">
          <h2 className="mb-1 text-xs font-semibold text-muted">{lists.views}</h2>
          {views.map((view) => (
            <div key={view.id} className="flex items-center rounded-[6px] hover:bg-sunken">
              <button
                type="button"
                className="min-w-0 grow truncate px-1.5 py-1 text-left text-sm"
                onClick={() => apply(view)}
              >
                {view.name}
              </button>
              <button
                type="button"
                className="p-1.5 text-muted hover:text-ink"
                aria-label={lists.deleteView(view.name)}
                onClick={() => void removing.run(view.id)}
              >
                <Icon name="close" size={12} />
              </button>
            </div>
          ))}
          <button
            type="button"
            className="flex items-center gap-2 px-1.5 py-1 text-sm"
            onClick={() => {
              setOpen(false);
              setNaming(true);
            }}
          >
            <Icon name="plus" size={12} />
            {lists.saveView}
          </button>
        </section>
        <fieldset className="mb-3 border-b border-line pb-2 max-md:hidden">
          <legend className="mb-1 text-xs font-semibold text-muted">{lists.columns}</legend>
          {columns.slice(1).map(({ header }) => (
            <label key={header} className="flex items-center gap-2.5 rounded-[6px] px-1.5 py-1 text-sm hover:bg-sunken">
              <input
                type="checkbox"
                className="size-4"
                checked={shown.includes(header)}
                onChange={({ target }) =>
                  onChange({ columns: target.checked ? [...shown, header] : shown.filter((name) => name !== header) })
                }
              />
              {header}
            </label>
          ))}
        </fieldset>
        <Density compact={choices.compact ?? false} onChange={(compact) => onChange({ compact })} />
      </Popover>
      {naming && <NameDialog busy={saving.busy} onClose={() => setNaming(false)} onSave={save} />}
    </>
  );
}

function Density({ compact, onChange }: { compact: boolean; onChange: (compact: boolean) => void }) {
  const name = useId();
  return (
    <fieldset>
      <legend className="mb-1 text-xs font-semibold text-muted">{lists.density}</legend>
      {[false, true].map((value) => (
        <label key={String(value)} className="flex items-center gap-2.5 px-1.5 py-1 text-sm">
          <input
            type="radio"
            name={name}
            className="size-4"
            checked={compact === value}
            onChange={() => onChange(value)}
          />
          {value ? lists.compact : lists.comfortable}
        </label>
      ))}
    </fieldset>
  );
}

interface NameProps {
  readonly busy: boolean;
  readonly onClose: () => void;
  readonly onSave: (name: string) => void;
}

function NameDialog({ busy, onClose, onSave }: NameProps) {
  const [name, setName] = useState('');
  const id = useId();
  return (
    <Dialog title={lists.saveViewTitle} onClose={onClose}>
      <form
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          if (name.trim()) onSave(name.trim());
        }}
      >
        <label htmlFor={id} className="mb-1 block text-sm font-medium">
          {lists.viewName}
        </label>
        <input
          id={id}
          className="control"
          required
          maxLength={60}
          value={name}
          aria-describedby={`${id}-hint`}
          onChange={(event) => setName(event.target.value)}
        />
        <p id={`${id}-hint`} className="mt-1 text-sm text-muted">
          {lists.saveViewHint}
        </p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button kind="primary" type="submit" busy={busy}>
            {common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
