import { Fragment } from 'react';
import { Icon } from '../../components/icons.tsx';
import { Panel } from '../../components/page.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { countText, percentText } from '../../format.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { LinkVisits, PaymentLink } from '../../types.ts';

/** How many of those who opened the link have tried to pay, and how many have paid, while it happens. */
export function Visits({ link }: { link: PaymentLink }) {
  const { data } = useGet<LinkVisits>(`/dashboard/payment_links/${link.id}/visits`, {}, { everyMs: lookEveryMs });
  const steps = [
    [paymentLinks.visits, data?.visits],
    [paymentLinks.startedToPay, data?.started],
    [paymentLinks.paid, data?.paid],
  ] as const;
  return (
    <Panel title={paymentLinks.conversion}>
      <dl className="flex flex-wrap items-center gap-x-2 gap-y-3 sm:gap-x-5">
        {steps.map(([label, count], index) => (
          <Fragment key={label}>
            {index > 0 && (
              <span className="text-muted" aria-hidden="true">
                <Icon name="right" />
              </span>
            )}
            <div className="flex flex-col-reverse sm:min-w-20">
              <dt className="text-sm text-muted">{label}</dt>
              <dd className="text-2xl font-semibold tabular-nums">
                {count === undefined ? '–' : countText(count)}
                {index > 0 && data && data.visits > 0 && (
                  <span className="ml-1.5 text-sm font-normal text-muted">
                    {percentText((count ?? 0) / data.visits)}
                  </span>
                )}
              </dd>
            </div>
          </Fragment>
        ))}
      </dl>
      <p className="mt-2 text-sm text-muted">
        {data ? paymentLinks.counted(data.days, data.visits) : paymentLinks.counting}
      </p>
    </Panel>
  );
}
