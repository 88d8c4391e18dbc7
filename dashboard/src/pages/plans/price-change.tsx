import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Picker } from '../../components/picker.tsx';
import { Sums } from '../../components/sums.tsx';
import { toast } from '../../components/toasts.tsx';
import { countText, dateOnly, money, priceText } from '../../format.ts';
import { useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { priceChanges } from '../../texts/price-changes.ts';
import type { Plan, PriceChange, PriceChangeCreate, PriceChangePreview, Subscription } from '../../types.ts';

interface PriceChangeProps {
  readonly plan: Pick<Plan, 'id' | 'name' | 'currency'>;
  /** Undefined for all subscriptions of the plan. */
  readonly chosen?: readonly string[];
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/** Shows how many subscriptions change and what they bring before the button that starts it. */
export function StartPriceChange({ plan, chosen, onClose, onDone }: PriceChangeProps) {
  const [toPlan, setToPlan] = useState<Plan>();
  const wanted = toPlan && {
    plan_id: plan.id,
    to_plan_id: toPlan.id,
    ...(chosen && { subscription_ids: [...chosen] }),
  };
  const { company } = useSignedIn();
  const preview = useQuery({
    queryKey: [company.id, 'price change', JSON.stringify(wanted)],
    queryFn: () => call<PriceChangePreview>('POST', '/dashboard/price_changes/preview', { body: wanted }),
    enabled: wanted !== undefined,
    retry: false,
    staleTime: 0,
  });
  const action = useAction<PriceChangeCreate, PriceChange>({
    send: (body, key) => call('POST', '/dashboard/price_changes', { body, key }),
    onDone: () => {
      toast(priceChanges.started);
      onClose();
      onDone?.();
    },
  });
  const shown = wanted && preview.data;
  const error = action.error ?? (wanted && preview.error);
  return (
    <Dialog title={chosen ? priceChanges.titleOf(chosen.length) : priceChanges.title} onClose={onClose}>
      <div className="flex flex-col gap-4">
        <p>{priceChanges.text(plan.name)}</p>
        <Picker<Plan>
          label={priceChanges.toPlan}
          path="/v1/plans"
          query={{ active: true, currency: plan.currency }}
          searchBy="search"
          textOf={({ name }) => name}
          detailOf={(item) => priceText(item, item.billing_cycle)}
          value={toPlan}
          onChange={setToPlan}
        />
        <div aria-live="polite">{shown && <Expected preview={shown} />}</div>
        {error && <ErrorNote error={error} />}
      </div>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose} disabled={action.busy}>
          {common.cancel}
        </Button>
        <Button
          kind="primary"
          busy={action.busy}
          disabled={!shown || shown.count === 0}
          onClick={() => wanted && shown && void action.run({ ...wanted, expected_count: shown.count })}
        >
          {shown ? priceChanges.start(shown.count) : priceChanges.button}
        </Button>
      </div>
    </Dialog>
  );
}

function Expected({ preview }: { preview: PriceChangePreview }) {
  const { count, seats, currency, amount_before, amount_after, exceptions } = preview;
  const { first_renewal_at: first, last_renewal_at: last } = preview;
  return (
    <div className="flex flex-col gap-2">
      {count === 0 ? (
        <p>{priceChanges.nothing}</p>
      ) : (
        <>
          <Sums
            sums={[
              [priceChanges.count, countText(count)],
              seats > count && [priceChanges.seats, countText(seats)],
              [priceChanges.before, money(amount_before, currency)],
              [priceChanges.after, money(amount_after, currency)],
            ]}
          />
          <p className="text-sm text-muted">
            {priceChanges.discounts} {first && last && priceChanges.renewals(dateOnly(first), dateOnly(last))}
          </p>
        </>
      )}
      {exceptions.length > 0 && (
        <div className="text-sm">
          <p className="font-medium">{priceChanges.leftOut}</p>
          <ul className="list-disc pl-5 text-muted">
            {exceptions.map(({ kind, count: left }) => (
              <li key={kind}>{priceChanges.exceptions[kind](left)}</li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

const chosenMax = 500;

/** For the selected subscriptions of a list. */
export function MoveSelected({ selected, onDone }: { selected: readonly Subscription[]; onDone: () => void }) {
  const [open, setOpen] = useState(false);
  const [first] = selected;
  const isOne = selected.every(({ plan_id }) => plan_id === first?.plan_id);
  const reason =
    selected.length > chosenMax ? priceChanges.tooMany(chosenMax) : isOne ? undefined : priceChanges.onePlan;
  return (
    <>
      <Button small reason={reason} onClick={() => setOpen(true)}>
        {priceChanges.button}
      </Button>
      {open && first && (
        <StartPriceChange
          plan={{ id: first.plan_id, name: first.plan.name, currency: first.plan.currency }}
          chosen={selected.map(({ id }) => id)}
          onClose={() => setOpen(false)}
          onDone={onDone}
        />
      )}
    </>
  );
}
