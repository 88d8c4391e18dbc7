import { TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/page.tsx';
import { money } from '../../format.ts';
import { home } from '../../texts/home.ts';
import type { FigureName, Statistics } from '../../types.ts';

/** What raised and lowered MRR in the period. The lines add up to the MRR of the running subscriptions. */
const lines = [
  ['new_mrr', 1],
  ['expansion', 1],
  ['contraction', -1],
  ['churned_mrr', -1],
] as const satisfies readonly (readonly [FigureName, 1 | -1])[];

export function RevenueChanges({ statistics }: { statistics: Statistics }) {
  const { figures, currency, buckets } = statistics;
  const end = figures.mrr?.value;
  if (end === null || end === undefined) return null;
  const changes = lines.map(([name, sign]) => ({ name, amount: sign * (figures[name]?.value ?? 0) }));
  const start = changes.reduce((rest, { amount }) => rest - amount, end);
  if (start === 0 && end === 0 && changes.every(({ amount }) => amount === 0)) return null;
  const isNow = buckets.at(-1)?.unfinished ?? false;
  return (
    <Panel title={home.revenue}>
      <dl className="flex flex-col gap-1 text-sm tabular-nums">
        <Line label={home.revenueStart} amount={money(start, currency)} />
        {changes.map(({ name, amount }) => (
          <Line
            key={name}
            label={home.metrics[name][0]}
            hint={home.metrics[name][1]}
            amount={`${amount > 0 ? '+' : amount < 0 ? '−' : ''}${money(Math.abs(amount), currency)}`}
          />
        ))}
        <Line
          label={isNow ? home.revenueEnd : home.revenueEndAt}
          amount={money(end, currency)}
          className="mt-1 border-t border-line pt-1.5 font-medium"
        />
      </dl>
      {isNow && (
        <p className="mt-2 text-sm">
          <TextLink to="/subscriptions" search={{ status: 'active,past_due' }}>
            {home.revenueList}
          </TextLink>
        </p>
      )}
    </Panel>
  );
}

function Line({
  label,
  hint,
  amount,
  className = '',
}: {
  label: string;
  hint?: string;
  amount: string;
  className?: string;
}) {
  return (
    <div className={`flex justify-between gap-4 ${className}`} title={hint}>
      <dt className="text-muted">{label}</dt>
      <dd>{amount}</dd>
    </div>
  );
}
