import { CheckoutPreview } from '../../components/checkout-preview.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { plans } from '../../texts/plans.ts';
import { preview } from '../../texts/preview.ts';
import { PlanForm, termsOf, usePlanForm } from './plan-form.tsx';
import { Preview } from './preview.tsx';
import { isPriced } from './tiers.tsx';
import { navigate } from '../../routing.tsx';

export function NewPlanPage() {
  const form = usePlanForm('', ({ id }) => void navigate({ to: `/plans/${id}` }));
  const { draft } = form;
  const terms = isPriced(draft) ? termsOf(draft) : undefined;
  return (
    <Page title={plans.add} back={{ to: '/plans', label: plans.title }}>
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        <Panel>
          <PlanForm form={form} onCancel={() => void navigate({ to: '/plans' })} />
        </Panel>
        <div className="min-w-0 lg:sticky lg:top-20">
          <Preview input={terms} currency={draft.currency} />
          <CheckoutPreview
            draft={{
              mode: 'subscription',
              ...(terms && {
                plan: {
                  billing_cycles: 0,
                  ...terms,
                  name: draft.name.trim() || preview.plan,
                  currency: draft.currency,
                },
              }),
            }}
          />
        </div>
      </div>
    </Page>
  );
}
