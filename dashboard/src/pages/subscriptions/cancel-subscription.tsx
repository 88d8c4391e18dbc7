import { type ReactNode, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { dateOnly } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { subscriptions } from '../../texts/subscriptions.ts';
import type { Renewal, Subscription } from '../../types.ts';

type When = 'end' | 'now';

interface CancelProps {
  readonly subscription: Subscription;
  readonly renewal: Renewal;
  readonly onClose: () => void;
}

/** Ends the renewal, as customers can, or cancels at once. */
export function CancelSubscription({ subscription, renewal, onClose }: CancelProps) {
  const { id, current_period_end } = subscription;
  const [when, setWhen] = useState<When>(renewal.can_end ? 'end' : 'now');
  const action = useAction<When, unknown>({
    send: (chosen, key) =>
      chosen === 'end'
        ? call('POST', `/dashboard/subscriptions/${id}/end_renewal`, { body: {}, key })
        : call('DELETE', `/v1/subscriptions/${id}`, { key }),
    onDone: (_result, chosen) => {
      toast(chosen === 'end' ? subscriptions.renewalEnded : subscriptions.canceled);
      onClose();
    },
  });
  const choices = [
    ...(renewal.can_end && current_period_end
      ? [
          {
            value: 'end' as const,
            label: subscriptions.cancelAtEnd(dateOnly(current_period_end)),
            hint: subscriptions.cancelAtEndHint,
          },
        ]
      : []),
    { value: 'now' as const, label: subscriptions.cancelNow, hint: subscriptions.cancelNowHint },
  ];
  return (
    <Dialog title={subscriptions.cancel} onClose={onClose}>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-muted">{subscriptions.cancelWhen}</legend>
        {choices.map(({ value, label, hint }) => (
          <label
            key={value}
            className="flex items-start gap-3 rounded-[8px] border border-line p-3 has-checked:border-accent-ink has-checked:bg-accent-soft"
          >
            <input
              type="radio"
              name="when"
              className="mt-1 size-4"
              checked={when === value}
              onChange={() => setWhen(value)}
            />
            <span>
              <span className="block font-medium">{label}</span>
              <span className="block text-sm text-muted">{hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {action.error && (
        <div className="mt-4">
          <ErrorNote error={action.error} />
        </div>
      )}
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose} disabled={action.busy}>
          {subscriptions.keep}
        </Button>
        <Button kind="danger" busy={action.busy} onClick={() => void action.run(when)}>
          {when === 'end' ? subscriptions.endRenewal : subscriptions.cancelNow}
        </Button>
      </div>
    </Dialog>
  );
}

/** Says that the paid period is the last one, and offers to go on. */
export function EndingNotice({
  subscription,
  renewal,
  reason,
}: Omit<CancelProps, 'onClose'> & { reason?: string | undefined }) {
  const keep = useAction<null, unknown>({
    send: (_input, key) => call('POST', `/dashboard/subscriptions/${subscription.id}/keep_renewal`, { body: {}, key }),
    onDone: () => toast(subscriptions.kept),
    tells: true,
  });
  if (!renewal.ends_at) return null;
  return (
    <Notice tone="info">
      <p className="grow">{subscriptions.endsOn(dateOnly(renewal.ends_at))}</p>
      {renewal.can_keep && (
        <Button small busy={keep.busy} reason={reason} onClick={() => void keep.run(null)}>
          {subscriptions.keep}
        </Button>
      )}
    </Notice>
  );
}

/** The state of dunning in words. */
export function DunningNotice({ renewal: { dunning } }: { renewal: Renewal }) {
  if (!dunning) return null;
  const { declined_at, reason, attempts, attempts_max, next_retry_at, ends_at, afterwards } = dunning;
  return (
    <Notice tone="bad">
      <div>
        <p className="font-medium">
          {subscriptions.declinedOn(dateOnly(declined_at), reason ?? common.unknown, attempts, attempts_max)}
        </p>
        <p>
          {next_retry_at ? subscriptions.retriesOn(dateOnly(next_retry_at)) : subscriptions.noRetry}{' '}
          {ends_at && subscriptions.givesUp[afterwards](dateOnly(ends_at))}
        </p>
      </div>
    </Notice>
  );
}

function Notice({ tone, children }: { tone: 'info' | 'bad'; children: ReactNode }) {
  const look = tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-info-soft text-info';
  return (
    <div role="status" className={`mb-5 flex flex-wrap items-center gap-3 rounded-[8px] px-4 py-3 ${look}`}>
      {children}
    </div>
  );
}
