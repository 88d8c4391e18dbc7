import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { FieldRow, NumberField, SelectField, TextField } from '../../components/fields.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { Load } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet, useList } from '../../data.ts';
import { editedFields } from '../../edits.ts';
import { priceText } from '../../format.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { planGroups } from '../../texts/plan-groups.ts';
import type { Plan, PlanGroup } from '../../types.ts';

const path = '/dashboard/plan_groups';

/** The groups between whose plans customers may change, with the rules for it. */
export function PlanGroups({ onClose }: { onClose: () => void }) {
  const query = useGet<{ data: PlanGroup[] }>(path);
  const reason = useCan('plans:write') ? undefined : common.notAllowed;
  const [editing, setEditing] = useState<PlanGroup | 'new'>();
  const [deleting, setDeleting] = useState<PlanGroup>();
  if (editing) {
    return <EditGroup group={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />;
  }
  return (
    <Dialog title={planGroups.title} onClose={onClose}>
      <p className="mb-4 text-muted">{planGroups.lead}</p>
      <Load query={query} lines={3}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-muted">{planGroups.none}</p>
          ) : (
            <ul className="flex flex-col divide-y divide-line">
              {data.map((group) => (
                <li key={group.id} className="flex items-center justify-between gap-3 py-2">
                  <span className="min-w-0 wrap-anywhere">{group.name}</span>
                  <span className="flex shrink-0 items-center gap-1">
                    <Button small reason={reason} onClick={() => setEditing(group)}>
                      {common.edit}
                    </Button>
                    <IconButton
                      label={planGroups.deleteOf(group.name)}
                      icon="close"
                      disabled={reason !== undefined}
                      onClick={() => setDeleting(group)}
                    />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Load>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{common.close}</Button>
        <Button kind="primary" icon="plus" reason={reason} onClick={() => setEditing('new')}>
          {planGroups.add}
        </Button>
      </div>
      {deleting && (
        <Confirm
          title={planGroups.deleteTitle(deleting.name)}
          confirm={common.delete}
          danger
          done={planGroups.deleted}
          send={(key) => call('DELETE', `${path}/${deleting.id}`, { key })}
          onClose={() => setDeleting(undefined)}
        >
          {planGroups.deleteText}
        </Confirm>
      )}
    </Dialog>
  );
}

const draftOf = (group?: PlanGroup) => ({
  name: group?.name ?? '',
  plan_ids: (group?.plan_ids ?? []) as readonly string[],
  upgrade: (group?.upgrade ?? 'now') as string,
  downgrade: (group?.downgrade ?? 'renewal') as string,
  proration: (group?.proration ?? 'difference') as string,
  after_cycles: String(group?.after_cycles ?? 0),
  seats_max: group?.seats_max ? String(group.seats_max) : '',
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = ({ after_cycles, seats_max, ...draft }: Draft) => ({
  ...draft,
  after_cycles: Number(after_cycles),
  seats_max: seats_max.trim() === '' ? null : Number(seats_max),
});

const fields = editedFields<Draft>({
  name: common.name,
  plan_ids: planGroups.plans,
  upgrade: { label: planGroups.upgrade, choices: planGroups.times },
  downgrade: { label: planGroups.downgrade, choices: planGroups.times },
  proration: { label: planGroups.proration, choices: planGroups.prorations },
  after_cycles: planGroups.afterCycles,
  seats_max: planGroups.seats,
});

const choicesOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([value, label]) => ({ value, label }));

function EditGroup({ group, onClose }: { group: PlanGroup | undefined; onClose: () => void }) {
  const form = useEditForm<PlanGroup, Draft>({
    object: group,
    path: group ? `${path}/${group.id}` : path,
    create: (body, key) => call('POST', path, { body, key }),
    draftOf,
    bodyOf,
    fields,
    check: ({ plan_ids, after_cycles, seats_max }) => ({
      plan_ids: plan_ids.length > 0 ? undefined : planGroups.choosePlans,
      after_cycles: /^\d+$/.test(after_cycles.trim()) ? undefined : planGroups.wrongNumber,
      seats_max: /^([1-9]\d*)?$/.test(seats_max.trim()) ? undefined : planGroups.wrongNumber,
    }),
    onDone: () => {
      toast(group ? common.saved : planGroups.created);
      onClose();
    },
  });
  return (
    <Dialog title={group ? planGroups.edit : planGroups.add} onClose={onClose}>
      <Form form={form} submit={group ? common.save : planGroups.add} onCancel={onClose}>
        <TextField form={form} name="name" label={common.name} />
        <PlansField form={form} />
        <SelectField form={form} name="upgrade" label={planGroups.upgrade} choices={choicesOf(planGroups.times)} />
        <SelectField form={form} name="downgrade" label={planGroups.downgrade} choices={choicesOf(planGroups.times)} />
        <SelectField
          form={form}
          name="proration"
          label={planGroups.proration}
          hint={planGroups.prorationHint}
          choices={choicesOf(planGroups.prorations)}
        />
        <FieldRow>
          <NumberField
            form={form}
            name="after_cycles"
            min={0}
            label={planGroups.afterCycles}
            hint={planGroups.afterHint}
          />
          <NumberField form={form} name="seats_max" label={planGroups.seats} hint={planGroups.seatsHint} />
        </FieldRow>
      </Form>
    </Dialog>
  );
}

function PlansField({ form }: { form: FormState<Draft> }) {
  const plans = useList<Plan>('/v1/plans', { active: true, limit: 100 }).data?.data ?? [];
  const { plan_ids } = form.draft;
  const error = form.errorOf('plan_ids');
  const toggle = (id: string, isIn: boolean) =>
    form.set('plan_ids', isIn ? [...plan_ids, id] : plan_ids.filter((one) => one !== id));
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{planGroups.plans}</legend>
      <div className="flex max-h-56 flex-col gap-1 overflow-y-auto rounded-[8px] border border-line p-2">
        {plans.map((plan) => (
          <label key={plan.id} className="flex items-start gap-2 px-1 py-1">
            <input
              type="checkbox"
              className="mt-1 size-4"
              checked={plan_ids.includes(plan.id)}
              onChange={({ target }) => toggle(plan.id, target.checked)}
            />
            <span className="min-w-0 wrap-anywhere">
              {plan.name} <span className="text-sm text-muted">{priceText(plan, plan.billing_cycle)}</span>
            </span>
          </label>
        ))}
      </div>
      <p className={`mt-1 text-sm ${error ? 'text-bad' : 'text-muted'}`}>{error ?? planGroups.plansHint}</p>
    </fieldset>
  );
}
