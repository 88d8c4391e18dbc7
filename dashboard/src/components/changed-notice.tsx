import { useId } from 'react';
import { type EditedField, picked } from '../edits.ts';
import { editing } from '../texts/editing.ts';
import { DateTime } from './date-time.tsx';

/** A field that others have changed, with both values as people read them. */
export interface Change<Draft extends object> {
  readonly field: EditedField<Draft>;
  readonly from: string;
  readonly to: string;
  /** Undefined if the user cannot know. */
  readonly by: string | undefined;
  readonly at: string | undefined;
}

interface ChangedNoticeProps<Draft extends object> {
  /** Changed by others and by the user. */
  readonly disputed: readonly Change<Draft>[];
  /** Changed by others only. The form has their values already. */
  readonly also: readonly Change<Draft>[];
  readonly mine: Draft;
  readonly theirs: Draft;
  readonly draft: Draft;
  readonly onChoose: (field: EditedField<Draft>, chosen: Draft) => void;
}

/** Says who has changed what, and lets the user choose between both values of a field. */
export function ChangedNotice<Draft extends object>(props: ChangedNoticeProps<Draft>) {
  const { disputed, also } = props;
  return (
    <section
      data-notice
      tabIndex={-1}
      role="alert"
      className="flex flex-col gap-3 rounded-[8px] bg-warn-soft px-4 py-3 text-warn outline-none"
    >
      <div>
        <p className="font-semibold">{editing.title}</p>
        <p>{editing.lead}</p>
      </div>
      {disputed.map((change) => (
        <Choice key={change.field.label} change={change} {...props} />
      ))}
      {also.length > 0 && (
        <div>
          <p>{editing.alsoChanged}</p>
          <ul className="mt-1 flex list-disc flex-col gap-1 pl-5">
            {also.map((change) => (
              <li key={change.field.label} className="wrap-anywhere">
                <span className="font-medium">{change.field.label}:</span> <Sentence change={change} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function Sentence<Draft extends object>({ change: { by, from, to, at } }: { change: Change<Draft> }) {
  return (
    <span className="wrap-anywhere">
      {by ? editing.changed(by, from, to) : editing.wasChanged(from, to)}
      {at && (
        <>
          , <DateTime at={at} real />
        </>
      )}
      .
    </span>
  );
}

function Choice<Draft extends object>(props: ChangedNoticeProps<Draft> & { readonly change: Change<Draft> }) {
  const { change, mine, theirs, draft, onChoose } = props;
  const { field, by } = change;
  const id = useId();
  const is = (other: Draft): boolean => JSON.stringify(picked(field, draft)) === JSON.stringify(picked(field, other));
  const options = [
    { value: theirs, label: by ? editing.theirs(by) : editing.current },
    { value: mine, label: editing.yours },
  ];
  return (
    <fieldset>
      <legend className="font-medium">{field.label}</legend>
      <p className="mb-1.5">
        <Sentence change={change} />
      </p>
      <div className="flex flex-col gap-1.5 rounded-[8px] border border-line bg-surface px-3 py-2 text-ink">
        {options.map(({ value, label }) => (
          <label key={label} className="flex items-start gap-2.5">
            <input
              type="radio"
              name={id}
              className="mt-1 size-4 shrink-0"
              checked={is(value)}
              onChange={() => onChoose(field, value)}
            />
            <span className="min-w-0 wrap-anywhere">
              {field.show(value)} <span className="text-sm text-muted">{label}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
