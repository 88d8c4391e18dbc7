import { Page, Panel } from '../../components/page.tsx';
import { plans } from '../../texts/plans.ts';
import { PlanForm, termsOf, usePlanForm } from './plan-form.tsx';
import { Preview } from './preview.tsx';
import { isPriced } from './tiers.tsx';
import { navigate } from '../../routing.tsx';

export function NewPlanPage() {
  const form = usePlanForm('', ({ id }) => void navigate({ to: `/plans/${id}` }));
  const { draft } = form;
  return (
    <Page title={plans.add} back={{ to: '/plans', label: plans.title }}>
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <Panel>
          <PlanForm form={form} onCancel={() => void navigate({ to: '/plans' })} />
        </Panel>
        <Preview input={isPriced(draft) ? termsOf(draft) : undefined} currency={draft.currency} />
      </div>
    </Page>
  );
}
