import { words } from '../format.ts';
import { useReasonAgainst } from '../session.ts';
import { developers } from '../texts/developers.ts';
import type { PermissionEntry } from '../types.ts';
import { Button } from './button.tsx';

interface MatrixProps {
  readonly all: readonly PermissionEntry[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
  readonly error?: string | undefined;
  readonly hint?: string;
  readonly locked?: boolean;
  /** Permissions that the presets leave out, so that they are chosen one by one. */
  readonly apart?: readonly string[];
}

const resourceOf = (key: string): string => key.split(':')[0] ?? '';

/** One row per resource, with a column for read and one for write. Members can only grant permissions they have. */
export function PermissionMatrix({ all, chosen, onChange, error, hint, locked = false, apart = [] }: MatrixProps) {
  const reasonAgainst = useReasonAgainst();
  const keys = all.map(({ key }) => key).filter((key) => !reasonAgainst([key]) && !apart.includes(key));
  const resources = [...new Set(all.map(({ key }) => resourceOf(key)))];
  const toggle = (key: string, on: boolean) =>
    onChange(on ? [...chosen, key] : chosen.filter((other) => other !== key));
  const presets = [
    { label: developers.everything, keys },
    { label: developers.readOnly, keys: keys.filter((key) => key.endsWith(':read')) },
    { label: developers.nothing, keys: [] },
  ];
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{developers.permissions}</legend>
      {hint && <p className="mb-2 text-sm text-muted">{hint}</p>}
      {!locked && (
        <div className="mb-2 flex flex-wrap gap-2">
          {presets.map((preset) => (
            <Button key={preset.label} small onClick={() => onChange([...preset.keys])}>
              {preset.label}
            </Button>
          ))}
        </div>
      )}
      <div className="rounded-[8px] border border-line">
        <ul className="divide-y divide-line">
          {resources.map((resource) => (
            <li key={resource} className="flex flex-wrap items-center gap-x-2 px-3 py-1.5 sm:gap-x-4">
              <span className="min-w-0 flex-1">{words(resource)}</span>
              {['read', 'write'].map((verb) => {
                const key = `${resource}:${verb}`;
                const entry = all.find((candidate) => candidate.key === key);
                const reason = reasonAgainst([key]);
                return entry ? (
                  <label key={verb} className="flex w-20 shrink-0 items-center gap-2 text-sm" title={reason}>
                    <input
                      type="checkbox"
                      aria-label={key}
                      className="size-4"
                      checked={chosen.includes(key)}
                      disabled={locked || (reason !== undefined && !chosen.includes(key))}
                      onChange={(event) => toggle(key, event.target.checked)}
                    />
                    {words(verb)}
                  </label>
                ) : (
                  <span key={verb} className="w-20 shrink-0" />
                );
              })}
              {all
                .filter(({ key, note }) => note && resourceOf(key) === resource && chosen.includes(key))
                .map(({ key, note }) => (
                  <span key={key} className="w-full text-sm text-muted">
                    {note}
                  </span>
                ))}
            </li>
          ))}
        </ul>
      </div>
      {error && <p className="mt-1 text-sm text-bad">{error}</p>}
    </fieldset>
  );
}
