import type { ReactNode } from 'react';
import { Icon } from '../../components/icons.tsx';
import { Popover } from '../../components/popover.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { home } from '../../texts/home.ts';
import type { FigureName, Statistics } from '../../types.ts';
import { type Change, changeOf, formatOf, type Metric } from './metrics.ts';

interface CardsProps {
  readonly statistics: Statistics;
  readonly chosen: FigureName;
  readonly choose: (name: FigureName) => void;
  /** The figures in the order of the member. */
  readonly shown: readonly Metric[];
  readonly actions: ReactNode;
}

const largeCount = 3;

/** The figures, the first ones large and the others as a strip. Each can be chosen for the chart. */
export function MetricCards({ statistics, chosen, choose, shown, actions }: CardsProps) {
  const card = (metric: Metric, isLarge: boolean) => (
    <MetricCard
      key={metric.name}
      metric={metric}
      statistics={statistics}
      isLarge={isLarge}
      isChosen={chosen === metric.name}
      onChoose={() => choose(metric.name)}
    />
  );
  return (
    <div className="mb-8">
      <ul className="grid grid-cols-2 gap-2 sm:gap-3 md:grid-cols-3">
        {shown.slice(0, largeCount).map((metric) => card(metric, true))}
      </ul>
      <ul className="mt-2 grid grid-cols-2 gap-2 sm:mt-3 sm:grid-cols-4 sm:gap-3 xl:flex">
        {shown.slice(largeCount).map((metric) => card(metric, false))}
      </ul>
      <div className="mt-2 flex justify-end">{actions}</div>
    </div>
  );
}

interface CardProps {
  readonly metric: Metric;
  readonly statistics: Statistics;
  readonly isLarge: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function MetricCard({ metric, statistics, isLarge, isChosen, onChoose }: CardProps) {
  const figure = statistics.figures[metric.name];
  if (!figure) return null;
  const { full, card } = formatOf(metric, statistics.currency);
  const [label, definition] = home.metrics[metric.name];
  const change = changeOf(metric, figure.value, figure.previous);
  const unfinished = statistics.buckets.at(-1)?.unfinished ?? false;
  return (
    <li
      className={`panel relative min-w-0 px-3 pt-2.5 pb-3 transition-colors hover:border-line-strong ${isLarge ? 'max-md:first:col-span-2 sm:px-4' : 'xl:flex-auto'} ${isChosen ? 'border-accent-ink' : ''}`}
    >
      <div className="flex items-center justify-between gap-1">
        <button
          type="button"
          aria-pressed={isChosen}
          onClick={onChoose}
          className="truncate text-left text-sm text-muted after:absolute after:inset-0 after:rounded-[10px]"
        >
          {label}
        </button>
        <Definition label={label} text={definition} />
      </div>
      <p
        className={`truncate leading-tight font-semibold tracking-tight tabular-nums ${isLarge ? 'text-[1.75rem] xl:text-[2.25rem]' : 'text-xl'}`}
        title={figure.value === null ? undefined : full(figure.value)}
      >
        {figure.value === null ? '—' : (isLarge ? full : card)(figure.value)}
      </p>
      <div className="mt-1 flex min-h-6 items-center gap-1.5 text-xs text-muted">
        {change ? (
          <>
            <Delta change={change} />
            {isLarge && (
              <span className="truncate max-sm:hidden">
                {home.from} {figure.previous === null ? '—' : card(figure.previous)}
              </span>
            )}
          </>
        ) : (
          <span className="truncate">{home.noComparison}</span>
        )}
      </div>
      {isLarge && figure.series.length > 1 && (
        <div className="mt-2">
          <Sparkline values={figure.series} unfinished={unfinished} fromZero={!metric.isLevel} />
        </div>
      )}
    </li>
  );
}

function Delta({ change: { text, direction, isGood, isSmall } }: { change: Change }) {
  const tone =
    direction === 'none' || isSmall
      ? 'bg-sunken text-muted'
      : isGood
        ? 'bg-good-soft text-good'
        : 'bg-bad-soft text-bad';
  return (
    <span
      className={`inline-flex items-center gap-0.5 rounded-full px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${tone}`}
    >
      {direction !== 'none' && <Icon name={direction} size={12} />}
      <span className="sr-only">{home.directions[direction]}</span>
      {text}
    </span>
  );
}

/** What a figure means. Above the button that covers the card. */
function Definition({ label, text }: { label: string; text: string }) {
  return (
    <Popover
      align="end"
      label={label}
      className="w-72 p-3.5"
      trigger={
        <button
          type="button"
          aria-label={home.definitionOf(label)}
          className="relative z-10 -mr-1.5 inline-flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-semibold text-muted hover:bg-sunken hover:text-ink"
        >
          ?
        </button>
      }
    >
      <p className="mb-1 text-sm font-semibold">{label}</p>
      <p className="text-sm text-muted">{text}</p>
    </Popover>
  );
}
