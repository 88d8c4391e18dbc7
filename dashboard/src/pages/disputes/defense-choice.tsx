import type { UseQueryResult } from '@tanstack/react-query';
import { Field, Select } from '../../components/fields.tsx';
import { Load } from '../../components/page.tsx';
import { disputes } from '../../texts/disputes.ts';
import type { DefenseReasonsList } from '../../types.ts';
import { type Defense, type Material, problemsOf, proposed, type Reason, sourceOf, withSource } from './defense.ts';

interface ChoiceProps {
  readonly query: UseQueryResult<DefenseReasonsList>;
  readonly material: readonly Material[];
  readonly chosen: Defense | null;
  readonly onChange: (defense: Defense | null) => void;
}

/** The reasons that the processor offers, with the documents that it needs for the chosen one. */
export function DefenseChoice({ query, ...choice }: ChoiceProps) {
  return (
    <section aria-labelledby="defense">
      <h3 id="defense" className="mb-2 font-semibold">
        {disputes.defense}
      </h3>
      <p className="mb-3 text-sm text-muted">{disputes.defenseHint}</p>
      <Load query={query}>{({ data }) => <Reasons reasons={data} {...choice} />}</Load>
    </section>
  );
}

interface ReasonsProps extends Pick<ChoiceProps, 'material' | 'chosen' | 'onChange'> {
  readonly reasons: readonly Reason[];
}

function Reasons({ reasons, material, chosen, onChange }: ReasonsProps) {
  const reason = reasons.find((one) => one.reason === chosen?.reason);
  function choose(name: string): void {
    const next = reasons.find((one) => one.reason === name);
    onChange(next ? proposed(next, material) : null);
  }
  return (
    <div className="flex flex-col gap-4">
      <Field label={disputes.defenseReason}>
        {(attributes) => (
          <Select
            {...attributes}
            value={reason?.reason ?? ''}
            onChange={(event) => choose(event.target.value)}
            choices={[
              { value: '', label: disputes.chooseReason },
              ...reasons.map((one) => ({ value: one.reason, label: one.name })),
            ]}
          />
        )}
      </Field>
      {reason && chosen && <Documents reason={reason} material={material} chosen={chosen} onChange={onChange} />}
    </div>
  );
}

interface DocumentsProps {
  readonly reason: Reason;
  readonly material: readonly Material[];
  readonly chosen: Defense;
  readonly onChange: (defense: Defense) => void;
}

function Documents({ reason, material, chosen, onChange }: DocumentsProps) {
  const problems = problemsOf(reason, chosen, material);
  return (
    <>
      {reason.documents.length === 0 && <p className="text-muted">{disputes.noDocuments}</p>}
      {reason.documents.map(({ type, name, need, is_supplied }) => (
        <Field
          key={type}
          label={name}
          aside={<span className="text-sm text-muted">{is_supplied ? disputes.isSupplied : disputes.needs[need]}</span>}
        >
          {(attributes) => (
            <Select
              {...attributes}
              value={sourceOf(chosen, type)}
              onChange={(event) => onChange(withSource(chosen, type, event.target.value))}
              choices={[
                { value: '', label: disputes.noDocument },
                ...material.map(({ source, name: label }) => ({ value: source, label })),
              ]}
            />
          )}
        </Field>
      ))}
      {problems.length > 0 && (
        <ul className="rounded-[8px] bg-warn-soft px-4 py-3 text-warn">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </>
  );
}

/** What the processor will get, before it is sent. */
export function DefenseSummary({ reason, material, chosen }: Omit<DocumentsProps, 'onChange'>) {
  const sent = reason.documents.flatMap(({ type, name }) => {
    const found = material.find(({ source }) => source === sourceOf(chosen, type));
    return found ? [disputes.sentAs(found.name, name)] : [];
  });
  return (
    <div className="mt-3">
      <p>{disputes.defendsFor(reason.name)}</p>
      <ul className="list-disc pl-5">
        {sent.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
