import { type FormEvent, type ReactNode, type RefObject, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api.ts';
import { common } from '../texts/common.ts';
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
  /** Says in a toast why it was refused, where nothing else on the page does. */
  readonly tells?: boolean;
}

/**
 * Something the person does that changes data. The idempotency key lives as long as the intent: it is kept while nobody
 * knows the outcome and the input is the same, so that trying again never does it twice.
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
  /** Everything that is wrong is said at a field. */
  readonly marked: boolean;
  /** Of a form that asks before it sends: it is asking now. */
  readonly asking: boolean;
  readonly confirm: () => Promise<void>;
  readonly back: () => void;
  readonly element: RefObject<HTMLFormElement | null>;
}

interface FormOptions<Draft extends object, Result> {
  readonly initial: Draft;
  readonly send: (draft: Draft, key: string) => Promise<Result>;
  readonly onDone?: (result: Result, draft: Draft) => void;
  /** What can be said without asking the service, by field. */
  readonly check?: (draft: Draft) => Readonly<Record<string, string | undefined>>;
  /** What moves money is looked at once more before it is sent. */
  readonly asks?: boolean;
}

/** `must be a number` → `Must be a number` */
const sentence = (text: string | undefined): string | undefined => text && text.charAt(0).toUpperCase() + text.slice(1);

/** `allowed_addresses[0]` → `allowed_addresses`, which is one field here. */
const fieldOf = (path: string): string => path.replace(/\[\d+\]$/, '');

export function useForm<Draft extends object, Result>(options: FormOptions<Draft, Result>): FormState<Draft> {
  const [draft, setDraft] = useState(options.initial);
  const [checked, setChecked] = useState(false);
  const [asking, setAsking] = useState(false);
  const { send, onDone, asks = false } = options;
  const action = useAction<Draft, Result>({
    send,
    onDone: (result, input) => {
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
      // Nobody is told before they have tried, and what they mend then is gone at once.
      const found = checked ? problems[path] : undefined;
      return found ?? sentence(wrong.find(({ field }) => fieldOf(field) === path || field === path)?.message);
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
    // What is said at the fields is mended there.
    asking: asking && !marked,
    confirm,
    back: () => setAsking(false),
    element,
  };
}

/** To the first field that is wrong, once the errors are drawn. */
function focusMistake(form: HTMLFormElement | null): void {
  setTimeout(() => form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
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
      <div className={`flex flex-wrap gap-2 ${wide ? '' : 'justify-end'}`}>
        {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
        <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={form.busy} className={wide ? 'grow' : ''}>
          {submit}
        </Button>
      </div>
    </PlainForm>
  );
}

/** A form that is laid out by its page. */
export function PlainForm<Draft extends object>(props: {
  form: FormState<Draft>;
  className: string;
  children: ReactNode;
}) {
  const { form, className, children } = props;
  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    // A dialog may stand inside the page of another form.
    event.stopPropagation();
    void form.submit();
  }
  return (
    <form ref={form.element} onSubmit={onSubmit} noValidate className={className}>
      {children}
    </form>
  );
}

export function FormError<Draft extends object>({ form }: { form: FormState<Draft> }) {
  // While it asks, the question shows it.
  if (!form.error || form.asking) return null;
  return <ErrorNote error={form.error} {...(form.marked ? { text: common.seeMarked } : {})} />;
}

export function ErrorNote({ error, text = error.message }: { error: ApiError | Error; text?: string }) {
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <div role="alert" className="rounded-[8px] bg-bad-soft px-3.5 py-2.5 text-bad">
      <p>{text}</p>
      {requestId && <p className="mt-0.5 font-mono text-xs">{requestId}</p>}
    </div>
  );
}
