import { useState } from 'react';
import { call } from '../../api.ts';
import { AddCard, cardText } from '../../components/add-card.tsx';
import { CardMark } from '../../components/card-mark.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, SelectField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Load, Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet, useList } from '../../data.ts';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { customers } from '../../texts/customers.ts';
import type { PaymentMethod } from '../../types.ts';

interface CardCheck {
  readonly payment_method_id: string;
  readonly outcome: 'verified' | 'declined';
  readonly avs_result: string | null;
  readonly cvv_result: string | null;
}

/** What the processor answered when the card was verified. */
function CheckBadges({ check }: { readonly check: CardCheck | undefined }) {
  if (!check) return null;
  const { checks } = customers;
  const problems = [
    ...(check.outcome === 'declined' ? [checks.declined] : []),
    ...(check.cvv_result === 'N' ? [checks.cvc] : []),
    ...(check.avs_result === 'N' ? [checks.address] : []),
  ];
  if (problems.length === 0) return <Badge status="verified" label={customers.verified} tone="good" />;
  return problems.map((problem) => <Badge key={problem} status="failed" label={problem} tone="warn" />);
}

/** Whether the card can be charged while the customer is absent, where banks ask for that. */
function Mandate({ method }: { readonly method: PaymentMethod }) {
  const text = method.mandate ? customers.mandate : customers.noMandate;
  return (
    <span className="text-sm text-muted" title={method.mandate ? customers.mandateHint : customers.noMandateHint}>
      {text}
    </span>
  );
}

export function Cards({ customerId, deleted }: { customerId: string; deleted: boolean }) {
  const path = `/v1/customers/${customerId}/payment_methods`;
  const query = useList<PaymentMethod>(path, { limit: 100 });
  const checks = useGet<{ readonly data: readonly CardCheck[] }>(`/dashboard/customers/${customerId}/card_checks`);
  const [adding, setAdding] = useState(false);
  const [preferring, setPreferring] = useState<PaymentMethod>();
  const [removing, setRemoving] = useState<PaymentMethod>();
  const reason = useCan('payment_methods:write') ? undefined : common.notAllowed;
  return (
    <Panel
      title={customers.cards}
      actions={
        !deleted && (
          <Button small icon="plus" reason={reason} onClick={() => setAdding(true)}>
            {customers.addCard}
          </Button>
        )
      }
    >
      <Load query={query} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-muted">{customers.noCards}</p>
          ) : (
            <ul className="flex flex-col divide-y divide-line">
              {data.map((method) => (
                <li key={method.id} className="flex flex-wrap items-center gap-3 py-2.5 first:pt-0 last:pb-0">
                  <CardMark brand={method.card.brand} />
                  <span className="font-medium">{cardText(method)}</span>
                  <span className="text-sm text-muted">
                    {customers.expires(method.card.exp_month, method.card.exp_year)}
                  </span>
                  {method.is_default && <Badge status="default" label={customers.default} tone="info" />}
                  <Mandate method={method} />
                  <CheckBadges check={checks.data?.data.find((one) => one.payment_method_id === method.id)} />
                  <span className="ml-auto flex gap-1">
                    {!method.is_default && (
                      <Button
                        small
                        kind="quiet"
                        reason={reason}
                        onClick={() => setPreferring(method)}
                        aria-label={`${customers.makeDefault}: ${cardText(method)}`}
                      >
                        {customers.makeDefault}
                      </Button>
                    )}
                    <Button
                      small
                      kind="quiet"
                      reason={reason}
                      onClick={() => setRemoving(method)}
                      aria-label={`${customers.removeCard} ${cardText(method)}`}
                    >
                      {common.remove}
                    </Button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Load>
      {adding && <AddCard path={path} onClose={() => setAdding(false)} />}
      {preferring && <MakeDefault path={path} method={preferring} onClose={() => setPreferring(undefined)} />}
      {removing && (
        <RemoveCard
          path={path}
          method={removing}
          others={(query.data?.data ?? []).filter(({ id }) => id !== removing.id)}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </Panel>
  );
}

interface MakeDefaultProps {
  readonly path: string;
  readonly method: PaymentMethod;
  readonly onClose: () => void;
}

function MakeDefault({ path, method, onClose }: MakeDefaultProps) {
  const form = useForm({
    initial: { update_subscriptions: false },
    send: ({ update_subscriptions }, key) =>
      call<PaymentMethod>('PATCH', `${path}/${method.id}`, {
        body: { set_as_default: true, ...(update_subscriptions ? { update_subscriptions } : {}) },
        key,
      }),
    onDone: () => {
      toast(customers.defaultChanged);
      onClose();
    },
  });
  return (
    <Dialog title={customers.makeDefault} onClose={onClose}>
      <Form form={form} submit={customers.makeDefault} onCancel={onClose}>
        <p>{customers.makeDefaultText(cardText(method))}</p>
        <CheckField
          form={form}
          name="update_subscriptions"
          label={customers.moveSubscriptions}
          hint={customers.moveSubscriptionsHint}
        />
      </Form>
    </Dialog>
  );
}

interface RemoveCardProps {
  readonly path: string;
  readonly method: PaymentMethod;
  readonly others: readonly PaymentMethod[];
  readonly onClose: () => void;
}

function RemoveCard({ path, method, others, onClose }: RemoveCardProps) {
  const form = useForm({
    initial: { replacement: others[0]?.id ?? '' },
    send: ({ replacement }, key) =>
      call('DELETE', `${path}/${method.id}`, {
        body: replacement ? { replacement_payment_method_id: replacement } : {},
        key,
      }),
    onDone: () => {
      toast(customers.cardRemoved);
      onClose();
    },
  });
  return (
    <Dialog title={customers.removeCard} onClose={onClose}>
      <Form form={form} submit={common.remove} danger onCancel={onClose}>
        <p>{customers.removeCardText(method.card.last4)}</p>
        {others.length > 0 && (
          <SelectField
            form={form}
            name="replacement"
            path="replacement_payment_method_id"
            label={customers.replacement}
            choices={[
              ...others.map((other) => ({ value: other.id, label: cardText(other) })),
              { value: '', label: common.none },
            ]}
          />
        )}
      </Form>
    </Dialog>
  );
}
