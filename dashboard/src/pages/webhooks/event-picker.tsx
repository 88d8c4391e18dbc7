import { useId, useState } from 'react';
import { type EventGroup, eventGroups } from '../../event-types.ts';
import { words } from '../../format.ts';
import { webhooks } from '../../texts/webhooks.ts';

interface EventPickerProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
  readonly error: string | undefined;
}

/** Chooses all events, all events of a kind of object, or single events. */
export function EventPicker({ chosen, onChange, error }: EventPickerProps) {
  const id = useId();
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const all = chosen.includes('*');
  const toggle = (value: string, on: boolean, replaces: (other: string) => boolean = () => false): void =>
    onChange([...chosen.filter((other) => other !== value && !(on && replaces(other))), ...(on ? [value] : [])]);
  const groups = eventGroups
    .map(({ resource, events }) => ({
      resource,
      events: events.filter((event) => `${event.type} ${event.text}`.toLowerCase().includes(wanted)),
    }))
    .filter(({ events }) => events.length > 0);
  return (
    <fieldset aria-describedby={error ? `${id}-error` : undefined}>
      <legend className="mb-1 text-sm font-medium">{webhooks.events}</legend>
      <label className="mb-2 flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4"
          checked={all}
          onChange={({ target }) => toggle('*', target.checked, () => true)}
        />
        {webhooks.everyEvent}
      </label>
      {!all && (
        <>
          <input
            type="search"
            aria-label={webhooks.filterEvents}
            placeholder={webhooks.filterEvents}
            className="control mb-2"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <div
            className="max-h-80 overflow-y-auto rounded-[8px] border border-line"
            tabIndex={0}
            role="group"
            aria-label={webhooks.events}
          >
            {groups.map((group) => (
              <Group key={group.resource} group={group} chosen={chosen} toggle={toggle} />
            ))}
            {groups.length === 0 && <p className="p-3 text-muted">{webhooks.noEvent}</p>}
          </div>
        </>
      )}
      {error && (
        <p id={`${id}-error`} className="mt-1 text-sm text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface GroupProps {
  readonly group: EventGroup;
  readonly chosen: readonly string[];
  readonly toggle: (value: string, on: boolean, replaces?: (other: string) => boolean) => void;
}

function Group({ group: { resource, events }, chosen, toggle }: GroupProps) {
  const pattern = `${resource}.*`;
  const whole = chosen.includes(pattern);
  return (
    <section className="border-b border-line p-3 last:border-b-0">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          className="size-4"
          checked={whole}
          onChange={({ target }) => toggle(pattern, target.checked, (other) => other.startsWith(`${resource}.`))}
        />
        <span className="grow">{webhooks.allOf(words(resource))}</span>
        <span className="font-mono text-xs text-muted">{pattern}</span>
      </label>
      <ul className="mt-1.5 flex flex-col gap-1.5 pl-6">
        {events.map(({ type, text }) => (
          <li key={type}>
            <label className="flex items-start gap-2 text-sm">
              <input
                type="checkbox"
                className="mt-0.5 size-4 shrink-0"
                disabled={whole}
                checked={whole || chosen.includes(type)}
                onChange={({ target }) => toggle(type, target.checked)}
              />
              <span>
                <span className="font-mono text-[13px]">{type}</span>
                <span className="block text-muted">{text}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}
