import { subscriptions } from '../texts/subscriptions.ts';
import { FieldRow, NumberField, SelectField } from './fields.tsx';
import type { FormState } from './form.tsx';

export interface CycleDraft {
  interval: string;
  interval_count: string;
  anchor_day: string;
}

interface Cycle {
  readonly interval: string;
  readonly interval_count: number;
  readonly anchor_day: number | 'signup_date';
}

export const cycleDraft = ({ interval, interval_count, anchor_day }: Cycle): CycleDraft => ({
  interval,
  interval_count: String(interval_count),
  anchor_day: anchor_day === 'signup_date' ? '' : String(anchor_day),
});

export const cycleOf = ({ interval, interval_count, anchor_day }: CycleDraft): Cycle => ({
  interval,
  interval_count: Number(interval_count),
  anchor_day: anchor_day === '' || interval !== 'month' ? 'signup_date' : Number(anchor_day),
});

/** The billing interval and the day of the month. */
export function CycleFields<Draft extends CycleDraft>({ form, hint }: { form: FormState<Draft>; hint: string }) {
  // These fields only use their own names. The other fields of the form do not matter.
  const bound = form as unknown as FormState<CycleDraft>;
  return (
    <>
      <FieldRow>
        <NumberField
          form={bound}
          name="interval_count"
          path="billing_cycle.interval_count"
          label={subscriptions.every}
        />
        <SelectField
          form={bound}
          name="interval"
          path="billing_cycle.interval"
          label={subscriptions.interval}
          choices={Object.entries(subscriptions.intervals).map(([value, label]) => ({ value, label }))}
        />
      </FieldRow>
      {form.draft.interval === 'month' && (
        <NumberField
          form={bound}
          name="anchor_day"
          path="billing_cycle.anchor_day"
          label={subscriptions.anchor}
          hint={hint}
          max={31}
        />
      )}
    </>
  );
}
