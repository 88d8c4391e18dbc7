import { useState } from 'react';
import { customers } from '../texts/customers.ts';
import { Button } from './button.tsx';
import { CountrySelect } from './choice-field.tsx';
import { type BoundProps, Field } from './fields.tsx';

const parts = ['name', 'line1', 'line2', 'city', 'state', 'postal_code', 'country', 'phone'] as const;
type Part = (typeof parts)[number];

export type AddressDraft = Readonly<Record<Part, string>>;
type Known = Readonly<Record<Part, string | null>> | null | undefined;

export const addressDraft = (address: Known): AddressDraft =>
  Object.fromEntries(parts.map((part) => [part, address?.[part] ?? ''])) as AddressDraft;

const same = (one: AddressDraft, other: AddressDraft): boolean => parts.every((part) => one[part] === other[part]);

/** Null if all fields are empty. */
export function addressOf(draft: AddressDraft): Record<Part, string | null> | null {
  const address = Object.fromEntries(parts.map((part) => [part, draft[part].trim() || null])) as Record<
    Part,
    string | null
  >;
  if (parts.every((part) => address[part] === null)) return null;
  return { ...address, country: address.country?.toUpperCase() ?? null };
}

/** The address of the selected customer, unless the user has typed another one. */
export const addressFor = (draft: AddressDraft, before: Known, now: Known): AddressDraft =>
  same(draft, addressDraft(before)) ? addressDraft(now) : draft;

/** In one line, for a sentence. */
export function addressText(draft: AddressDraft): string {
  const address = addressOf(draft);
  return address ? `“${linesOf(address).join(', ')}”` : customers.noAddress;
}

function linesOf(address: Readonly<Record<Part, string | null>>): readonly string[] {
  const { name, line1, line2, city, state, postal_code, country, phone } = address;
  const region = [state, postal_code].filter(Boolean).join(' ');
  const place = [city, region].filter(Boolean).join(', ');
  return [name, line1, line2, place, country, phone].flatMap((line) => line || []);
}

export function Address({ address }: { address: Readonly<Record<Part, string | null>> }) {
  return linesOf(address).map((line) => (
    <span key={line} className="block">
      {line}
    </span>
  ));
}

/** Collapsed by default, with its content as a summary. */
export function AddressField<Draft extends object>({
  form,
  name,
  label,
  known,
}: BoundProps<Draft, AddressDraft> & { known?: Known }) {
  const draft = form.draft[name] as AddressDraft;
  const set = (next: AddressDraft) => form.set(name, next as Draft[typeof name]);
  const [open, setOpen] = useState(false);
  const errors = parts.map((part) => form.errorOf(`${name}.${part}`));
  const wrong = errors.some((error) => error !== undefined);
  const address = addressOf(draft);
  return (
    <details open={open || wrong} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="text-sm wrap-anywhere">
        <span className="font-medium">{label}</span>{' '}
        {!open && <span className="text-muted">{address ? linesOf(address).join(', ') : customers.noAddress}</span>}
      </summary>
      <div className="mt-3 grid gap-4 sm:grid-cols-2">
        {parts.map((part, index) =>
          part === 'country' ? (
            <CountrySelect
              key={part}
              label={customers.address[part]}
              name={`${name}.${part}`}
              error={errors[index]}
              value={draft[part]}
              onChange={(country) => set({ ...draft, country })}
            />
          ) : (
            <Field key={part} label={customers.address[part]} error={errors[index]}>
              {(attributes) => (
                <input
                  {...attributes}
                  name={`${name}.${part}`}
                  className="control"
                  autoComplete="off"
                  value={draft[part]}
                  onChange={(event) => set({ ...draft, [part]: event.target.value })}
                />
              )}
            </Field>
          ),
        )}
      </div>
      <div className="mt-3 flex flex-wrap gap-2 empty:hidden">
        {known && !same(draft, addressDraft(known)) && (
          <Button small onClick={() => set(addressDraft(known))}>
            {customers.useAddress}
          </Button>
        )}
        {address && (
          <Button small onClick={() => set(addressDraft(null))}>
            {customers.clearAddress}
          </Button>
        )}
      </div>
    </details>
  );
}
