import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { ErrorNote, FormError, PlainForm, useAction, useForm } from '../../components/form.tsx';
import { common } from '../../texts/common.ts';
import { processors } from '../../texts/processors.ts';
import type { Connection, Connections } from '../../types.ts';

export type Kind = Connections['kinds'][number];
type KindField = Kind['fields'][number];

export interface TestResult {
  readonly works: boolean;
  readonly advice: string | null;
  readonly account: string | null;
  readonly problem: string | null;
}

interface CredentialsFormProps {
  readonly kind: Kind;
  readonly submit: string;
  /** The connection whose stored values are kept where a field is left empty. */
  readonly connectionId?: string;
  /** The initial name, if the form asks for one. */
  readonly name?: string;
  readonly send: (body: { name?: string; configuration: object }, key: string) => Promise<Connection>;
  readonly onDone: (connection: Connection) => void;
  readonly onCancel: () => void;
}

/** The prefix keeps a field of a processor apart from the name of the connection. */
const draftName = ({ name }: KindField): string => `configuration.${name}`;

/** The fields of a kind of processor, with a test that charges nothing. */
export function CredentialsForm(props: CredentialsFormProps) {
  const { kind, submit, connectionId, name, send, onDone, onCancel } = props;
  const [tested, setTested] = useState<{ readonly draft: string; readonly result: TestResult }>();
  const initial = Object.fromEntries(
    kind.fields.map((field) => [draftName(field), connectionId ? '' : (field.choices?.[0] ?? '')]),
  );
  const configurationOf = (draft: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      kind.fields.flatMap((field) => {
        const value = draft[draftName(field)] ?? '';
        return value === '' ? [] : [[field.name, value]];
      }),
    );
  const form = useForm<Record<string, string>, Connection>({
    initial: { ...initial, ...(name !== undefined && { name }) },
    send: (draft, key) =>
      send({ ...(name !== undefined && { name: draft.name }), configuration: configurationOf(draft) }, key),
    onDone,
  });
  const test = useAction<Record<string, string>, TestResult>({
    send: (configuration, key) =>
      call<TestResult>('POST', '/dashboard/processors/test', {
        body: { kind: kind.kind, configuration, ...(connectionId && { connection_id: connectionId }) },
        key,
      }),
    onDone: (result, configuration) => setTested({ draft: JSON.stringify(configuration), result }),
  });
  const current = JSON.stringify(configurationOf(form.draft));
  const shown = tested?.draft === current && !test.busy ? tested.result : undefined;
  const wrongFields = test.error?.fieldErrors ?? [];
  const fieldForm: typeof form = {
    ...form,
    errorOf: (path) => form.errorOf(path) ?? wrongFields.find(({ field }) => field === path)?.message,
  };
  return (
    <PlainForm form={form} className="flex flex-col gap-4">
      {kind.fields.map((field) => (
        <ConfigurationField key={field.name} form={fieldForm} field={field} keeps={connectionId !== undefined} />
      ))}
      {name !== undefined && (
        <TextField form={form} name="name" label={processors.name} hint={processors.nameHint} autoComplete="off" />
      )}
      <FormError form={form} />
      {test.error && <ErrorNote error={test.error} {...(wrongFields.length > 0 && { text: common.seeMarked })} />}
      <TestOutcome result={shown} />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Button
          busy={test.busy}
          disabled={form.busy}
          title={processors.testHint}
          onClick={() => void test.run(configurationOf(form.draft))}
        >
          {processors.test}
        </Button>
        <div className="flex flex-wrap gap-2">
          <Button onClick={onCancel}>{common.cancel}</Button>
          <Button type="submit" kind="primary" busy={form.busy} disabled={test.busy}>
            {submit}
          </Button>
        </div>
      </div>
    </PlainForm>
  );
}

function ConfigurationField(props: {
  readonly form: ReturnType<typeof useForm<Record<string, string>, Connection>>;
  readonly field: KindField;
  /** Whether an empty field keeps its stored value. */
  readonly keeps: boolean;
}) {
  const { form, field, keeps } = props;
  const label = field.is_optional && !keeps ? `${field.label} (${common.optional.toLowerCase()})` : field.label;
  const bound = { form, name: draftName(field), label };
  if (field.choices) {
    return (
      <SelectField
        {...bound}
        hint={field.help}
        choices={[
          ...(keeps ? [{ value: '', label: processors.keep }] : []),
          ...field.choices.map((value) => ({ value, label: value })),
        ]}
      />
    );
  }
  return (
    <TextField
      {...bound}
      hint={field.is_secret ? `${field.help} ${processors.secretHint}` : field.help}
      type={field.is_secret ? 'password' : 'text'}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** What a test found. The region exists from the start, so that screen readers announce the result. */
export function TestOutcome({ result }: { readonly result: TestResult | undefined }) {
  return (
    <div role="status">
      {result && (
        <p
          className={`rounded-[8px] px-3.5 py-2.5 wrap-anywhere ${result.works ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad'}`}
        >
          {result.works ? processors.works(result.account) : result.problem}
        </p>
      )}
      {result?.advice && <p className="mt-2 text-muted wrap-anywhere">{result.advice}</p>}
    </div>
  );
}
