import { type ComponentProps, type InputEvent, type ReactNode, useId } from 'react';
import { amountText, readAmount } from '../amounts.ts';
import { moneySentence } from '../error-texts.ts';
import { money } from '../format.ts';
import type { FormState } from './form.tsx';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly children: (attributes: {
    id: string;
    'aria-invalid': boolean;
    'aria-describedby': string | undefined;
  }) => ReactNode;
  readonly aside?: ReactNode;
  /** For screen readers only, if the title above says the same. */
  readonly isLabelHidden?: boolean | undefined;
}

/** Label, control, hint and error, connected for screen readers. */
export function Field({ label, hint, error, children, aside, isLabelHidden = false }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div>
      <div className={isLabelHidden ? 'sr-only' : 'mb-1 flex items-baseline justify-between gap-3'}>
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {aside}
      </div>
      {children({ id, 'aria-invalid': error !== undefined, 'aria-describedby': described || undefined })}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-sm text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="mt-1 text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

type NamesOf<Draft, Value> = { [Name in keyof Draft]: Draft[Name] extends Value ? Name : never }[keyof Draft] & string;

export interface BoundProps<Draft extends object, Value> {
  readonly form: FormState<Draft>;
  readonly name: NamesOf<Draft, Value>;
  readonly label: string;
  readonly hint?: ReactNode;
  /** The name of the field in the API, if it differs. */
  readonly path?: string;
}

type InputProps = Omit<ComponentProps<'input'>, 'form' | 'name' | 'value' | 'onChange'>;

export function TextField<Draft extends object>(props: BoundProps<Draft, string> & InputProps & { aside?: ReactNode }) {
  const { form, name, label, hint, path, aside, className = '', ...rest } = props;
  return (
    <Field label={label} hint={hint} error={form.errorOf(path ?? name)} aside={aside}>
      {(attributes) => (
        <input
          {...rest}
          {...attributes}
          name={name}
          data-empty={form.draft[name] === '' || undefined}
          className={`control ${className}`}
          value={String(form.draft[name])}
          onChange={(event) => form.set(name, event.target.value as Draft[typeof name])}
        />
      )}
    </Field>
  );
}

/**
 * A whole number, at least 1 unless `min` is set. It accepts only digits, because a browser shows `1.000` in a number field
 * and reads it as 1, and drops the comma of `1,5`.
 */
export function NumberField<Draft extends object>(props: BoundProps<Draft, string> & InputProps) {
  return <TextField {...wholeNumber} {...props} />;
}

export const wholeNumber = {
  type: 'number',
  min: 1,
  onBeforeInput: (event: InputEvent<HTMLInputElement>) => {
    if (/\D/.test(event.data)) event.preventDefault();
  },
} as const;

export function AreaField<Draft extends object>({
  form,
  name,
  label,
  hint,
  path,
  rows = 3,
  placeholder,
  isLabelHidden,
}: BoundProps<Draft, string> & { rows?: number; placeholder?: string; isLabelHidden?: boolean }) {
  return (
    <Field label={label} hint={hint} error={form.errorOf(path ?? name)} isLabelHidden={isLabelHidden}>
      {(attributes) => (
        <textarea
          {...attributes}
          name={name}
          rows={rows}
          placeholder={placeholder}
          className="control"
          value={String(form.draft[name])}
          onChange={(event) => form.set(name, event.target.value as Draft[typeof name])}
        />
      )}
    </Field>
  );
}

export function MoneyField<Draft extends object>(props: BoundProps<Draft, string> & { currency: string }) {
  const { form, name, label, hint, path, currency } = props;
  return (
    <MoneyInput
      label={label}
      hint={hint}
      error={form.errorOf(path ?? name)}
      name={name}
      currency={currency}
      value={String(form.draft[name])}
      onChange={(value) => form.set(name, value as Draft[typeof name])}
    />
  );
}

interface MoneyInputProps extends Pick<FieldProps, 'label' | 'hint' | 'error'> {
  readonly currency: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly name?: string;
}

/** Accepts amounts as people write them. The form reads them with `readAmount`; the field shows what it reads, as they type. */
export function MoneyInput({ label, hint, error, currency, value, onChange, name }: MoneyInputProps) {
  const typed = value.trim();
  const reading = typed === '' ? undefined : readAmount(typed, currency);
  // After a decimal mark, and with nothing but the sign of a currency, the amount is not complete yet.
  const problem = /[.,]$|^[\p{L}\p{Sc}]+$/u.test(typed) ? undefined : reading?.problem;
  return (
    <Field
      label={label}
      hint={hint}
      error={error ? moneySentence(error, currency) : problem}
      aside={
        <output className="text-sm text-muted tabular-nums">
          {reading?.amount !== undefined && money(reading.amount, currency)}
        </output>
      }
    >
      {(attributes) => (
        <div className="relative">
          <input
            {...attributes}
            name={name}
            value={value}
            onChange={(event) => onChange(event.target.value)}
            inputMode="decimal"
            placeholder={amountText(0, currency)}
            autoComplete="off"
            className="control pr-14 tabular-nums"
          />
          <span className="pointer-events-none absolute inset-y-0 right-3 flex items-center text-sm text-muted uppercase">
            {currency}
          </span>
        </div>
      )}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export function SelectField<Draft extends object>(props: BoundProps<Draft, string> & { choices: readonly Choice[] }) {
  const { form, name, label, hint, path, choices } = props;
  return (
    <Field label={label} hint={hint} error={form.errorOf(path ?? name)}>
      {(attributes) => (
        <Select
          {...attributes}
          name={name}
          choices={choices}
          value={String(form.draft[name])}
          onChange={(event) => form.set(name, event.target.value as Draft[typeof name])}
        />
      )}
    </Field>
  );
}

export function Select({
  choices,
  className = '',
  ...rest
}: ComponentProps<'select'> & { choices: readonly Choice[] }) {
  return (
    <select {...rest} className={`control ${className}`}>
      {choices.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

export function CheckField<Draft extends object>({ form, name, label, hint }: BoundProps<Draft, boolean>) {
  const id = useId();
  return (
    <div className="flex items-start gap-2.5">
      <input
        id={id}
        type="checkbox"
        name={name}
        className="mt-1 size-4 shrink-0"
        checked={Boolean(form.draft[name])}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => form.set(name, event.target.checked as Draft[typeof name])}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} className="text-sm text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export function FieldRow({ children }: { children: ReactNode }) {
  return <div className="grid gap-4 sm:grid-cols-2">{children}</div>;
}

/** A group of checkboxes, for example permissions or event types. */
export function CheckGroup(props: {
  label: string;
  hint?: ReactNode;
  choices: readonly (Choice & { hint?: string })[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  error?: string | undefined;
}) {
  const { label, hint, choices, chosen, onChange, error } = props;
  const id = useId();
  const toggle = (value: string, on: boolean) =>
    onChange(on ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <fieldset aria-describedby={error ? `${id}-error` : undefined}>
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      {hint && <p className="mb-2 text-sm text-muted">{hint}</p>}
      <div className="grid max-h-72 gap-x-4 gap-y-1.5 overflow-y-auto rounded-[8px] border border-line p-3 sm:grid-cols-2">
        {choices.map((choice) => (
          <label key={choice.value} className="flex items-start gap-2 text-sm">
            <input
              type="checkbox"
              className="mt-0.5 size-4 shrink-0"
              checked={chosen.includes(choice.value)}
              onChange={(event) => toggle(choice.value, event.target.checked)}
            />
            <span>
              <span className="font-mono text-[13px]">{choice.label}</span>
              {choice.hint && <span className="block text-xs text-muted">{choice.hint}</span>}
            </span>
          </label>
        ))}
      </div>
      {error && (
        <p id={`${id}-error`} className="mt-1 text-sm text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}
