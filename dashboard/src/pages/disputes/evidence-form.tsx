import { useRef, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { AreaField, FieldRow, TextField } from '../../components/fields.tsx';
import { FormError, PlainForm } from '../../components/form.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { money } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { disputes, type Question } from '../../texts/disputes.ts';
import type { DisputeDetail } from '../../types.ts';
import { EvidenceFiles, FileUpload } from './files.tsx';

type Texts = Record<Question['name'], string>;

const textsOf = ({ evidence }: DisputeDetail): Texts =>
  Object.fromEntries(disputes.questions.map(({ name }) => [name, evidence[name] ?? '']));

const fields = editedFields<Texts>(
  Object.fromEntries(disputes.questions.map(({ name, label }) => [name, { label, path: `evidence.${name}` }])),
);

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
    draftOf: (known) => textsOf(known ?? dispute),
    bodyOf: (texts) => texts,
    // The evidence is replaced as a whole.
    requestOf: (_changes, _before, texts) => ({
      evidence: Object.fromEntries(Object.entries(texts).filter(([, text]) => String(text).trim() !== '')),
    }),
    fields,
    check: (texts) => {
      const length = Object.values(texts).join('').length;
      return { explanation: length > answer.text_length_max ? disputes.textTooLong(count.format(length)) : undefined };
    },
    onDone: () => toast(disputes.draftSaved),
  });
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
          <p className="text-sm text-muted">{disputes.textLimit(count.format(answer.text_length_max))}</p>
          <fieldset disabled={!canWrite} className="flex flex-col gap-4">
            {areas.slice(0, 3).map((question) => (
              <AreaField key={question.name} form={form} path={`evidence.${question.name}`} {...fieldOf(question)} />
            ))}
            <FieldRow>
              {lines.map((question) => (
                <TextField key={question.name} form={form} path={`evidence.${question.name}`} {...fieldOf(question)} />
              ))}
            </FieldRow>
            {areas.slice(3).map((question) => (
              <AreaField key={question.name} form={form} path={`evidence.${question.name}`} {...fieldOf(question)} />
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
          <FormError form={form} />
          <div className="flex flex-wrap justify-end gap-2 border-t border-line pt-4">
            <Button type="submit" busy={form.busy} reason={reason}>
              {disputes.saveDraft}
            </Button>
            <Button kind="primary" reason={reason} onClick={() => setSubmitting(true)}>
              {disputes.submit}
            </Button>
          </div>
        </PlainForm>
      </Panel>
      {isSubmitting && (
        <Confirm<DisputeDetail>
          title={disputes.submitTitle}
          amount={money(dispute.amount, dispute.currency)}
          confirm={disputes.submit}
          done={disputes.submitted}
          send={submit}
          onClose={() => setSubmitting(false)}
        >
          {disputes.submitText}
        </Confirm>
      )}
    </>
  );
}

const fieldOf = ({ name, label, hint }: Question) => ({ name, label, hint });
