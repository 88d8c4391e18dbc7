import { useEffect, useRef, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Deadline } from '../../components/deadline.tsx';
import { AreaField, FieldRow, TextField } from '../../components/fields.tsx';
import { FormError, type FormState, PlainForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { disputes, type Question } from '../../texts/disputes.ts';
import type { DefenseReasonsList, DisputeDetail, EvidenceSuggestions } from '../../types.ts';
import { available, type Defense, type Material, problemsOf, texts } from './defense.ts';
import { DefenseChoice, DefenseSummary } from './defense-choice.tsx';
import { EvidenceFiles, FileUpload } from './files.tsx';

type Texts = Record<Question['name'], string>;
/** Beside the texts, `defense`: the choice as JSON. */
type Draft = Texts;

const names = disputes.questions.map(({ name }) => name);

const draftOf = ({ evidence, defense }: DisputeDetail): Draft => ({
  ...Object.fromEntries(names.map((name) => [name, evidence[name] ?? ''])),
  defense: defense ? JSON.stringify(defense) : '',
});

const defenseIn = ({ defense = '' }: Draft): Defense | null => (defense === '' ? null : JSON.parse(defense));

const fields = editedFields<Draft>({
  ...Object.fromEntries(disputes.questions.map(({ name, label }) => [name, { label, path: `evidence.${name}` }])),
  defense: { label: disputes.defenseReason, show: (draft) => defenseIn(draft)?.reason ?? '' },
});

type Suggested = EvidenceSuggestions['data'][number];

const textOf = ({ lines }: Suggested): string => lines.map(({ text }) => text).join('\n');

/** Fills only what is empty. */
const filled = (draft: Draft, suggestions: readonly Suggested[]): Draft => ({
  ...draft,
  ...Object.fromEntries(
    suggestions
      .filter(({ field }) => !draft[field]?.trim())
      .map((suggestion) => [suggestion.field, textOf(suggestion)]),
  ),
});

/** A dispute without a draft begins with what is recorded of the payment. What was typed meanwhile stays. */
function usePrefilled(dispute: DisputeDetail, form: FormState<Draft>): readonly Suggested[] {
  const canWrite = useCan('orders:write');
  const { data } = useGet<EvidenceSuggestions>(
    `/dashboard/disputes/${dispute.id}/suggestions`,
    {},
    { enabled: canWrite },
  );
  const isNew = useRef(Object.keys(dispute.evidence).length === 0);
  useEffect(() => {
    if (!data || !isNew.current) return;
    isNew.current = false;
    form.replace((latest) => filled(latest, data.data), filled(draftOf(dispute), data.data));
  }, [data]);
  return data?.data ?? [];
}

const count = new Intl.NumberFormat('en-US');

/** The draft is saved as often as the merchant likes, and submitted once. */
export function EvidenceForm({ dispute }: { dispute: DisputeDetail }) {
  const { company } = useSignedIn();
  const canWrite = useCan('orders:write');
  const reason = canWrite ? undefined : common.notAllowed;
  const [isSubmitting, setSubmitting] = useState(false);
  const { answer } = dispute;
  const path = `/dashboard/disputes/${dispute.id}`;
  const form = useEditForm({
    object: dispute,
    path,
    draftOf: (known) => draftOf(known ?? dispute),
    bodyOf: (draft) => draft,
    // The evidence is replaced as a whole.
    requestOf: (_changes, _before, draft) => ({
      evidence: Object.fromEntries(
        names.flatMap((name) => (String(draft[name]).trim() === '' ? [] : [[name, draft[name]]])),
      ),
      ...(answer.chooses_reason && {
        defense: available(defenseIn(draft as Draft), materialOf(dispute, draft as Draft)),
      }),
    }),
    fields,
    check: (draft) => {
      const length = names.map((name) => draft[name]).join('').length;
      return { explanation: length > answer.text_length_max ? disputes.textTooLong(count.format(length)) : undefined };
    },
    onDone: () => toast(disputes.draftSaved),
  });
  const suggestions = usePrefilled(dispute, form);
  const defense = useDefense(dispute, form.draft);
  const saved = useRef('');
  /** Submits what is on the screen. A repetition after a lost answer saves nothing: the evidence may be submitted already. */
  async function submit(key: string): Promise<DisputeDetail> {
    const text = JSON.stringify(form.draft);
    if (saved.current !== text) await form.save(form.draft);
    saved.current = text;
    return call('POST', `${path}/submit`, { key, body: {} });
  }
  const lines = disputes.questions.filter(({ isLine }) => isLine);
  const areas = disputes.questions.filter(({ isLine }) => !isLine);
  return (
    <>
      {company.mode === 'sandbox' && (
        <p className="mb-5 rounded-[8px] bg-info-soft px-4 py-3 text-info">{disputes.sandboxHint}</p>
      )}
      <Panel title={disputes.evidence}>
        <PlainForm form={form} className="flex flex-col gap-5">
          <p className="text-sm text-muted">
            {suggestions.length > 0 && `${disputes.prefilled} `}
            {disputes.textLimit(count.format(answer.text_length_max))}
          </p>
          <fieldset disabled={!canWrite} className="flex flex-col gap-4">
            {areas.slice(0, 3).map((question) => (
              <EvidenceField key={question.name} form={form} question={question} suggestions={suggestions} />
            ))}
            <FieldRow>
              {lines.map((question) => (
                <EvidenceField key={question.name} form={form} question={question} suggestions={suggestions} />
              ))}
            </FieldRow>
            {areas.slice(3).map((question) => (
              <EvidenceField key={question.name} form={form} question={question} suggestions={suggestions} />
            ))}
          </fieldset>
          <section aria-labelledby="evidence-files">
            <h3 id="evidence-files" className="mb-2 font-semibold">
              {disputes.files}
            </h3>
            {dispute.files.length > 0 && (
              <div className="panel mb-3">
                <EvidenceFiles files={dispute.files} remove={{ path, reason }} />
              </div>
            )}
            <FileUpload dispute={dispute} reason={reason} />
          </section>
          {answer.chooses_reason && canWrite && (
            <DefenseChoice
              {...defense}
              onChange={(chosen) => form.set('defense', chosen ? JSON.stringify(chosen) : '')}
            />
          )}
          <FormError form={form} />
          <div className="flex flex-wrap items-center justify-end gap-2 border-t border-line pt-4">
            <p className="mr-auto text-sm text-muted">
              {answer.is_final && disputes.once} {dispute.evidence_due_at && <Deadline dispute={dispute} />}
            </p>
            <Button type="submit" busy={form.busy} reason={reason}>
              {disputes.saveDraft}
            </Button>
            <Button kind="primary" reason={reason ?? defense.problem} onClick={() => setSubmitting(true)}>
              {disputes.submit}
            </Button>
          </div>
        </PlainForm>
      </Panel>
      {isSubmitting && (
        <SubmitQuestion dispute={dispute} defense={defense} send={submit} onClose={() => setSubmitting(false)} />
      )}
    </>
  );
}

/** What can be sent as a document. */
function materialOf({ files }: DisputeDetail, draft: Draft): Material[] {
  const hasTexts = names.some((name) => draft[name]?.trim());
  return [
    ...(hasTexts ? [{ source: texts, name: disputes.textsAsDocument }] : []),
    ...files.map(({ id, name }) => ({ source: id, name })),
  ];
}

/** The choice of the reason, at a processor that asks for one. */
function useDefense(dispute: DisputeDetail, draft: Draft) {
  const canWrite = useCan('orders:write');
  const { chooses_reason: isAsked } = dispute.answer;
  const path = `/dashboard/disputes/${dispute.id}/defense_reasons`;
  const query = useGet<DefenseReasonsList>(path, {}, { enabled: isAsked && canWrite });
  const material = materialOf(dispute, draft);
  const chosen = available(defenseIn(draft), material);
  const reason = query.data?.data.find((one) => one.reason === chosen?.reason);
  const problem = reason && chosen ? problemsOf(reason, chosen, material)[0] : disputes.reasonMissing;
  return { query, material, chosen, reason, problem: isAsked ? problem : undefined };
}

interface SubmitProps {
  readonly dispute: DisputeDetail;
  readonly defense: Omit<ReturnType<typeof useDefense>, 'query' | 'problem'>;
  readonly send: (key: string) => Promise<DisputeDetail>;
  readonly onClose: () => void;
}

/** Says until when and that it is final, and what the processor gets. */
function SubmitQuestion({ dispute, defense: { reason, chosen, material }, send, onClose }: SubmitProps) {
  return (
    <Confirm<DisputeDetail>
      title={disputes.submitTitle}
      amount={money(dispute.amount, dispute.currency)}
      confirm={disputes.submit}
      done={disputes.submitted}
      send={send}
      onClose={onClose}
    >
      <p>{disputes.submitText}</p>
      {dispute.evidence_due_at && (
        <p className="mt-2">
          <Deadline dispute={dispute} />
        </p>
      )}
      {reason && chosen && <DefenseSummary reason={reason} material={material} chosen={chosen} />}
    </Confirm>
  );
}

interface EvidenceFieldProps {
  readonly form: FormState<Draft>;
  readonly question: Question;
  readonly suggestions: readonly Suggested[];
}

/** The field, and below it where its text is taken from, as long as it is unchanged. */
function EvidenceField({ form, question, suggestions }: EvidenceFieldProps) {
  const { name, label, hint, isLine } = question;
  const suggestion = suggestions.find(({ field }) => field === name);
  const bound = { form, name, label, hint, path: `evidence.${name}` };
  const text = form.draft[name] ?? '';
  return (
    <div className="min-w-0">
      {isLine ? <TextField {...bound} /> : <AreaField {...bound} rows={Math.max(3, text.split('\n').length + 1)} />}
      {suggestion && text === textOf(suggestion) && (
        <p className="mt-1 text-sm text-muted">
          {disputes.takenFrom} {takenFrom(suggestion)}
        </p>
      )}
      {suggestion && text.trim() === '' && (
        <Button small kind="quiet" className="mt-1" onClick={() => form.set(name, textOf(suggestion))}>
          {disputes.useSuggestion}
        </Button>
      )}
    </div>
  );
}

function takenFrom({ lines }: Suggested): string {
  const [only, ...more] = lines;
  if (only && more.length === 0) return `${disputes.sources[only.source]}.`;
  return `${lines.map(({ source }, index) => disputes.takenLine(index + 1, disputes.sources[source])).join(', ')}.`;
}
