import { useState } from 'react';
import { changeField } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { AreaField, TextField } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money, priceText } from '../../format.ts';
import { useCan } from '../../session.ts';
import { useEditForm } from '../../components/edit-form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { orders } from '../../texts/orders.ts';
import { plans } from '../../texts/plans.ts';
import { priceChanges } from '../../texts/price-changes.ts';
import type { Plan } from '../../types.ts';
import { Preview } from './preview.tsx';
import { StartPriceChange } from './price-change.tsx';
import { PriceChanges } from './price-changes.tsx';
import { PriceSums } from './tiers.tsx';
import { useParams } from '../../routing.tsx';

export function PlanPage() {
  const { id = '' } = useParams();
  const path = `/v1/plans/${id}`;
  const query = useGet<Plan>(path);
  return (
    <LoadWhole query={query} path={path}>
      {(plan) => <Details plan={plan} />}
    </LoadWhole>
  );
}

function Details({ plan }: { plan: Plan }) {
  const [open, setOpen] = useState<'edit' | 'archive' | 'move'>();
  const reason = useCan('plans:write') ? undefined : common.notAllowed;
  const canSubscribe = useCan('subscriptions:write');
  const canRead = useCan('subscriptions:read');
  const close = () => setOpen(undefined);
  return (
    <Page
      title={plan.name}
      badge={<Badge status={plan.active ? 'active' : 'archived'} />}
      lead={priceText(plan, plan.billing_cycle)}
      back={{ to: '/plans', label: plans.title }}
      actions={
        <>
          {plan.active && canSubscribe && (
            <LinkButton to="/subscriptions/new" search={{ plan: plan.id }} kind="primary">
              {plans.subscribe}
            </LinkButton>
          )}
          <LinkButton to="/subscriptions" search={{ plan_id: plan.id }}>
            {plans.seeSubscriptions}
          </LinkButton>
          {canSubscribe && <Button onClick={() => setOpen('move')}>{priceChanges.button}</Button>}
          <Button reason={reason} onClick={() => setOpen('edit')}>
            {common.edit}
          </Button>
          <Button reason={reason} onClick={() => setOpen('archive')}>
            {plan.active ? plans.archive : plans.unarchive}
          </Button>
        </>
      }
    >
      <div className="grid items-start gap-x-10 lg:grid-cols-2">
        <div className="min-w-0">
          <Panel title={common.details}>
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={plan.id} />],
                [plans.code, <CopyId key="code" id={plan.plan_code} whole />],
                plan.description !== null && [common.description, plan.description],
                [plans.cycles, plan.billing_cycles === 0 ? plans.withoutEnd : plan.billing_cycles],
                [common.created, <DateTime key="created" at={plan.created_at} />],
              ]}
            />
          </Panel>
          <Price plan={plan} />
          <Products plan={plan} />
          {canRead && <PriceChanges plan={plan} />}
        </div>
        <Preview
          currency={plan.currency}
          input={{
            billing_cycle: plan.billing_cycle,
            amount: plan.amount,
            ...(plan.one_time_amount > 0 ? { one_time_amount: plan.one_time_amount } : {}),
            ...(plan.billing_cycles > 0 ? { billing_cycles: plan.billing_cycles } : {}),
          }}
        />
      </div>
      {open === 'edit' && <EditPlan plan={plan} onClose={close} />}
      {open === 'move' && <StartPriceChange plan={plan} onClose={close} />}
      {open === 'archive' && (
        <Confirm
          title={plan.active ? plans.archive : plans.unarchive}
          confirm={plan.active ? plans.archive : plans.unarchive}
          done={plan.active ? plans.archivedToast : plans.activeToast}
          send={(key) => changeField(`/dashboard/plans/${plan.id}`, 'active', !plan.active, key)}
          onClose={close}
        >
          {plan.active ? plans.archiveText : plan.name}
        </Confirm>
      )}
    </Page>
  );
}

function Price({ plan: { pricing_tiers, currency, amount, one_time_amount } }: { plan: Plan }) {
  const sums = <PriceSums amount={amount} one_time_amount={one_time_amount} currency={currency} />;
  // With one amount of each kind, the table would only repeat the sums.
  const isSplit = pricing_tiers.filter(({ kind }) => kind === 'recurring').length > 1 || pricing_tiers.length > 2;
  if (!isSplit) return <Panel title={plans.price}>{sums}</Panel>;
  return (
    <Panel title={plans.tiers}>
      <Table
        label={plans.tiers}
        rows={pricing_tiers.map((tier, index) => ({ ...tier, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { header: common.name, cell: ({ name }) => name, wraps: true },
          { header: plans.tierKind, cell: ({ kind }) => plans.tierKinds[kind] },
          { header: common.amount, cell: (tier) => money(tier.amount, currency), end: true },
        ]}
      />
      <div className="border-t border-line py-3">{sums}</div>
    </Panel>
  );
}

function Products({ plan: { products } }: { plan: Plan }) {
  if (products.length === 0) return null;
  return (
    <Panel title={plans.products}>
      <Table
        label={plans.products}
        rows={products.map((product, index) => ({ ...product, index }))}
        keyOf={({ index }) => String(index)}
        link={({ product_id }) => `/products/${product_id}`}
        columns={[
          { header: common.name, cell: ({ name }) => name, wraps: true },
          { header: orders.quantity, cell: ({ quantity }) => quantity, end: true },
        ]}
      />
    </Panel>
  );
}

const draftOf = (plan?: Plan) => ({ name: plan?.name ?? '', description: plan?.description ?? '' });
const fields = editedFields<ReturnType<typeof draftOf>>({ name: common.name, description: common.description });

function EditPlan({ plan, onClose }: { plan: Plan; onClose: () => void }) {
  const form = useEditForm({
    object: plan,
    path: `/dashboard/plans/${plan.id}`,
    readPath: `/v1/plans/${plan.id}`,
    draftOf,
    bodyOf: ({ name, description }) => ({ name, description: description || null }),
    fields,
    onDone: () => {
      toast(common.saved);
      onClose();
    },
  });
  return (
    <Dialog title={plans.edit} onClose={onClose}>
      <Form form={form} submit={common.save} onCancel={onClose}>
        <TextField form={form} name="name" label={common.name} />
        <AreaField form={form} name="description" label={common.description} />
        <p className="text-sm text-muted">{plans.fixed}</p>
      </Form>
    </Dialog>
  );
}
