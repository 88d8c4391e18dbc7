import { Icon } from '../../components/icons.tsx';
import { Popover } from '../../components/popover.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { home } from '../../texts/home.ts';
import type { FigureName, Statistics } from '../../types.ts';
import { type Change, changeOf, formatOf, metrics } from './metrics.ts';

interface CardsProps {
  readonly statistics: Statistics;
  readonly chosen: FigureName;
  readonly choose: (name: FigureName) => void;
}

/** The figures. Each can be chosen for the chart. */
export function MetricCards({ statistics, chosen, choose }: CardsProps) {
  return (
    <ul className="mb-8 grid grid-cols-2 gap-2 sm:gap-3 md:grid-cols-5">
      {metrics.map((metric) => {
        const figure = statistics.figures[metric.name];
        if (!figure) return null;
        const { full, card } = formatOf(metric, statistics.currency);
        const [label, definition] = home.metrics[metric.name];
        const change = changeOf(metric, figure.value, figure.previous);
        const unfinished = statistics.buckets.at(-1)?.unfinished ?? false;
        return (
          <li
            key={metric.name}
            className={`panel relative min-w-0 px-3 pt-2.5 pb-3 transition-colors hover:border-line-strong sm:px-4 ${chosen === metric.name ? 'border-accent-ink shadow-[inset_0_0_0_1px_var(--accent-ink)] hover:border-accent-ink' : ''}`}
          >
            <div className="flex items-center justify-between gap-1">
              <button
                type="button"
                aria-pressed={chosen === metric.name}
                onClick={() => choose(metric.name)}
                className="truncate text-left text-sm text-muted after:absolute after:inset-0 after:rounded-[10px]"
              >
                {label}
              </button>
              <Definition label={label} text={definition} />
            </div>
            <p
              className="truncate text-[1.375rem] leading-tight font-semibold tracking-tight tabular-nums xl:text-[1.75rem]"
              title={figure.value === null ? undefined : full(figure.value)}
            >
              {figure.value === null ? '—' : card(figure.value)}
            </p>
            <div className="mt-1 flex min-h-6 items-center gap-1.5 text-xs text-muted">
              {change ? (
                <>
                  <Delta change={change} />
                  <span className="truncate max-xl:hidden">
                    {home.from} {figure.previous === null ? '—' : card(figure.previous)}
                  </span>
                </>
              ) : (
                <span>{home.noComparison}</span>
              )}
            </div>
            {figure.series.length > 1 && (
              <div className="mt-2">
                <Sparkline values={figure.series} unfinished={unfinished} fromZero={!metric.isLevel} />
              </div>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Delta({ change: { text, direction, isGood } }: { change: Change }) {
  const tone =
    direction === 'none' ? 'bg-sunken text-muted' : isGood ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad';
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
