import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api.ts';
import { common } from '../texts/common.ts';
import { watchForm } from '../unsaved.ts';
import { Button } from './button.tsx';
import { toast } from './toasts.tsx';

export interface Action<Input, Result> {
  readonly run: (input: Input) => Promise<Result | undefined>;
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly clear: () => void;
}

interface ActionOptions<Input, Result> {
  readonly send: (input: Input, key: string) => Promise<Result>;
  readonly onDone?: (result: Result, input: Input) => void;
  /** Shows an error in a toast, for actions without another place for it. */
  readonly tells?: boolean;
}

/**
 * An action that changes data. It keeps its idempotency key while the outcome is unknown and the input is the same, so that a
 * retry never runs it twice.
 */
export function useAction<Input, Result>({
  send,
  onDone,
  tells = false,
}: ActionOptions<Input, Result>): Action<Input, Result> {
  const client = useQueryClient();
  const intent = useRef<{ key: string; input: string } | undefined>(undefined);
  const running = useRef(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const refresh = () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  async function run(input: Input): Promise<Result | undefined> {
    if (running.current) return undefined;
    running.current = true;
    setBusy(true);
    setError(undefined);
    const text = JSON.stringify(input) ?? '';
    if (intent.current?.input !== text) intent.current = { key: crypto.randomUUID(), input: text };
    try {
      const result = await send(input, intent.current.key);
      intent.current = undefined;
      refresh();
      onDone?.(result, input);
      return result;
    } catch (caught) {
      const shown = caught instanceof ApiError ? caught : new ApiError(0, { message: String(caught) }, '');
      if (shown.undecided) refresh();
      else intent.current = undefined;
      setError(shown);
      if (tells) toast(shown.message, true);
      return undefined;
    } finally {
      running.current = false;
      setBusy(false);
    }
  }
  return { run, busy, error, clear: () => setError(undefined) };
}

export interface FormState<Draft extends object> {
  readonly draft: Draft;
  readonly set: <Name extends keyof Draft>(name: Name, value: Draft[Name]) => void;
  readonly errorOf: (path: string) => string | undefined;
  readonly submit: () => Promise<void>;
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** All errors are shown at fields. */
  readonly marked: boolean;
  /** The confirmation dialog is open. */
  readonly asking: boolean;
  readonly confirm: () => Promise<void>;
  readonly back: () => void;
  readonly element: RefObject<HTMLFormElement | null>;
  readonly isUnsaved: () => boolean;
  /** Replaces the draft, for example with what others have changed. `saved`: what the service has. */
  readonly replace: (next: (latest: Draft) => Draft, saved: Draft) => void;
  /** What the form says above its fields. */
  readonly notice?: ReactNode;
}

export interface FormOptions<Draft extends object, Result> {
  readonly initial: Draft;
  readonly send: (draft: Draft, key: string) => Promise<Result>;
  readonly onDone?: (result: Result, draft: Draft) => void;
  /** Errors that can be found without the service, by field. */
  readonly check?: (draft: Draft) => Readonly<Record<string, string | undefined>>;
  /** Asks for a confirmation before it sends, for forms that move money. */
  readonly asks?: boolean;
  /** Can be left without a question, because little is lost. */
  readonly forgettable?: boolean;
}

/** `allowed_addresses[0]` → `allowed_addresses`, which is one field here. */
const fieldOf = (path: string): string => path.replace(/\[\d+\]$/, '');

export function useForm<Draft extends object, Result>(options: FormOptions<Draft, Result>): FormState<Draft> {
  const [draft, setDraft] = useState(options.initial);
  const [checked, setChecked] = useState(false);
  const [asking, setAsking] = useState(false);
  const { send, onDone, asks = false, forgettable = false } = options;
  const saved = useRef(options.initial);
  const latest = useRef(draft);
  latest.current = draft;
  const isUnsaved = useRef(() => !forgettable && !sameDraft(latest.current, saved.current));
  const action = useAction<Draft, Result>({
    send,
    onDone: (result, input) => {
      saved.current = input;
      setAsking(false);
      onDone?.(result, input);
    },
  });
  const shown = useRef(new Set<string>());
  const element = useRef<HTMLFormElement>(null);
  const wrong = action.error?.fieldErrors ?? [];
  const problems = options.check?.(draft) ?? {};
  const right = Object.values(problems).every((problem) => problem === undefined);
  const marked =
    wrong.length > 0 && wrong.every(({ field }) => shown.current.has(field) || shown.current.has(fieldOf(field)));
  async function confirm(): Promise<void> {
    await action.run(draft);
    focusMistake(element.current);
  }
  return {
    draft,
    set: (name, value) => setDraft((current) => ({ ...current, [name]: value })),
    errorOf(path) {
      shown.current.add(path);
      // Errors appear only after the first submit, and disappear as soon as they are fixed.
      const found = checked ? problems[path] : undefined;
      return found ?? wrong.find(({ field }) => fieldOf(field) === path || field === path)?.message;
    },
    async submit() {
      setChecked(true);
      action.clear();
      setAsking(asks && right);
      if (!right) focusMistake(element.current);
      else if (!asks) await confirm();
    },
    busy: action.busy,
    error: action.error,
    marked,
    // Errors at fields are fixed in the form, so the dialog closes.
    asking: asking && !marked,
    confirm,
    back: () => setAsking(false),
    element,
    isUnsaved: isUnsaved.current,
    replace(next, known) {
      saved.current = known;
      setDraft(next);
    },
  };
}

const sameDraft = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Focuses the notice or the first invalid field after they are rendered. */
function focusMistake(form: HTMLFormElement | null): void {
  setTimeout(() => form?.querySelector<HTMLElement>('[data-notice], [aria-invalid="true"]')?.focus());
}

interface FormProps<Draft extends object> {
  readonly form: FormState<Draft>;
  readonly submit: string;
  readonly children: ReactNode;
  readonly onCancel?: () => void;
  readonly cancel?: string;
  readonly danger?: boolean;
  readonly wide?: boolean;
}

export function Form<Draft extends object>(props: FormProps<Draft>) {
  const { form, submit, children, onCancel, cancel = common.cancel, danger, wide } = props;
  return (
    <PlainForm form={form} className="flex flex-col gap-4">
      {children}
      <FormError form={form} />
      <div className={`form-footer flex flex-wrap gap-2 ${wide ? '' : 'justify-end'}`}>
        {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
        <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={form.busy} className={wide ? 'grow' : ''}>
          {submit}
        </Button>
      </div>
    </PlainForm>
  );
}

/** A form whose layout is up to its page. */
export function PlainForm<Draft extends object>(props: {
  form: FormState<Draft>;
  className: string;
  children: ReactNode;
}) {
  const { form, className, children } = props;
  const { element, isUnsaved } = form;
  useEffect(() => watchForm({ element: () => element.current, isUnsaved }), [element, isUnsaved]);
  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    // A dialog can be inside another form.
    event.stopPropagation();
    void form.submit();
  }
  return (
    <form ref={form.element} onSubmit={onSubmit} noValidate className={className}>
      {form.notice}
      {children}
    </form>
  );
}

export function FormError<Draft extends object>({ form }: { form: FormState<Draft> }) {
  // While the confirmation dialog is open, it shows the error.
  if (!form.error || form.asking) return null;
  return <ErrorNote error={form.error} {...(form.marked ? { text: common.seeMarked } : {})} />;
}

export function ErrorNote({ error, text = error.message }: { error: ApiError | Error; text?: string }) {
  const requestId = error instanceof ApiError && error.isFault ? error.requestId : null;
  return (
    <div role="alert" className="rounded-[8px] bg-bad-soft px-3.5 py-2.5 text-bad">
      <p>{text}</p>
      {requestId && (
        <p className="mt-0.5 text-xs">
          {common.requestId} <span className="font-mono wrap-anywhere">{requestId}</span>
        </p>
      )}
    </div>
  );
}
