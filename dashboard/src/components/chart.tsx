import { type PointerEvent, useEffect, useId, useRef, useState } from 'react';
import { home } from '../texts/home.ts';

/** A line over time, drawn as SVG, with the previous period beside it. A table has the same numbers for screen readers. */

export interface ChartPoint {
  /** Short, for the axis. */
  readonly label: string;
  readonly title: string;
  readonly value: number | null;
  readonly previousTitle: string;
  readonly previous: number | null;
  /** The time of this point is not over. */
  readonly unfinished: boolean;
}

interface ChartProps {
  readonly label: string;
  readonly points: readonly ChartPoint[];
  readonly compares: boolean;
  readonly format: (value: number) => string;
  /** Short texts for the axis. */
  readonly short: (value: number) => string;
  /** Values are counts, so the axis has only whole numbers. */
  readonly whole: boolean;
  /** The height of the axis if there is nothing to show. */
  readonly emptyTop: number;
}

const heightPx = 264;
const edge = { top: 12, right: 12, bottom: 28, left: 60 };

/** Round steps for the axis: at most five lines. */
function ticksOf(highest: number, whole: boolean, emptyTop: number): number[] {
  const top = highest > 0 ? highest : emptyTop;
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const size = whole ? Math.max(1, Math.ceil(step)) : step;
  return Array.from({ length: Math.ceil(top / size - 1e-9) + 1 }, (_, index) => index * size);
}

type Place = readonly [x: number, y: number];

const lineOf = (places: readonly Place[]): string =>
  places.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

/** The width of the element, as it changes. */
function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = place.current;
    if (!target) return undefined;
    const observer = new ResizeObserver(() => setWidth(target.clientWidth));
    observer.observe(target);
    setWidth(target.clientWidth);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

export function Chart(props: ChartProps) {
  const [place, width] = useWidth();
  const [at, setAt] = useState<number>();
  const { points, compares } = props;
  const inner = Math.max(0, width - edge.left - edge.right);
  const indexAt = (event: PointerEvent): number => {
    const left = event.currentTarget.getBoundingClientRect().left + edge.left;
    const part = inner > 0 ? (event.clientX - left) / inner : 0;
    return Math.min(points.length - 1, Math.max(0, Math.round(part * (points.length - 1))));
  };
  const shown = at === undefined ? undefined : points[at];
  const isEmpty = points.every(({ value, previous }) => !value && !(compares && previous));
  return (
    <figure className="m-0">
      <div
        ref={place}
        className="relative touch-pan-y"
        onPointerMove={(event) => setAt(indexAt(event))}
        onPointerDown={(event) => setAt(indexAt(event))}
        onPointerLeave={() => setAt(undefined)}
        style={{ height: heightPx }}
        aria-hidden="true"
      >
        {width > 0 && <Drawing {...props} width={width} at={at} />}
        {isEmpty && (
          <p className="absolute inset-0 flex items-center justify-center pb-6 pl-12 text-muted">
            <span className="bg-canvas px-2">{home.noData}</span>
          </p>
        )}
        {shown && at !== undefined && !isEmpty && (
          <Tooltip point={shown} x={edge.left + xOf(at, points.length, inner)} width={width} {...props} />
        )}
      </div>
      <figcaption className="sr-only">
        <table>
          <caption>{props.label}</caption>
          <thead>
            <tr>
              <th scope="col">{home.period}</th>
              <th scope="col">{home.current}</th>
              {compares && <th scope="col">{home.previous}</th>}
            </tr>
          </thead>
          <tbody>
            {points.map((point) => (
              <tr key={point.title}>
                <th scope="row">{point.unfinished ? home.soFar(point.title) : point.title}</th>
                <td>{point.value === null ? '—' : props.format(point.value)}</td>
                {compares && <td>{point.previous === null ? '—' : props.format(point.previous)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </figcaption>
    </figure>
  );
}

/** A single point is in the middle. */
const xOf = (index: number, count: number, inner: number): number =>
  count > 1 ? (index * inner) / (count - 1) : inner / 2;

function Drawing({
  points,
  compares,
  short,
  whole,
  emptyTop,
  width,
  at,
}: ChartProps & { width: number; at: number | undefined }) {
  const fade = useId();
  const inner = { width: width - edge.left - edge.right, height: heightPx - edge.top - edge.bottom };
  const values = points.flatMap(({ value, previous }) => (compares ? [value, previous] : [value]));
  const known = values.filter((value) => value !== null);
  const ticks = ticksOf(Math.max(0, ...known), whole, emptyTop);
  const lowest = Math.min(0, ...known);
  const top = ticks.at(-1) ?? 1;
  const yOf = (value: number): number => edge.top + inner.height * (1 - (value - lowest) / (top - lowest));
  const placesOf = (name: 'value' | 'previous'): (Place & { readonly index?: number })[] =>
    points.flatMap((point, index): Place[] => {
      const value = point[name];
      return value === null ? [] : [[edge.left + xOf(index, points.length, inner.width), yOf(value)]];
    });
  const [current, previous] = [placesOf('value'), placesOf('previous')];
  const isUnfinished = points.at(-1)?.unfinished === true && points.at(-1)?.value !== null;
  const finished = isUnfinished ? current.slice(0, -1) : current;
  const rest = isUnfinished ? current.slice(-2) : [];
  const area =
    finished.length > 1 &&
    `${lineOf(finished)}L${finished.at(-1)?.[0]} ${yOf(lowest)}L${finished[0]?.[0]} ${yOf(lowest)}Z`;
  const every = Math.ceil(points.length / Math.max(2, Math.floor(inner.width / 84)));
  const last = points.length - 1;
  const here = at === undefined ? undefined : points[at];
  return (
    <svg width={width} height={heightPx} className="block">
      <defs>
        <linearGradient id={fade} x1="0" x2="0" y1="0" y2="1">
          <stop offset="0" stopColor="var(--accent-ink)" stopOpacity="0.16" />
          <stop offset="1" stopColor="var(--accent-ink)" stopOpacity="0" />
        </linearGradient>
      </defs>
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={edge.left} x2={width - edge.right} y1={yOf(tick)} y2={yOf(tick)} stroke="var(--line)" />
          <text x={edge.left - 10} y={yOf(tick) + 4} textAnchor="end" className="fill-muted text-xs tabular-nums">
            {short(tick)}
          </text>
        </g>
      ))}
      {points.map(
        (point, index) =>
          (last - index) % every === 0 && (
            <text
              key={point.title}
              x={edge.left + xOf(index, points.length, inner.width)}
              y={heightPx - 8}
              textAnchor={points.length === 1 ? 'middle' : index === last ? 'end' : index === 0 ? 'start' : 'middle'}
              className="fill-muted text-xs"
            >
              {point.label}
            </text>
          ),
      )}
      {compares && (
        <path d={lineOf(previous)} fill="none" stroke="var(--line-strong)" strokeWidth="1.5" strokeLinejoin="round" />
      )}
      {area && <path d={area} fill={`url(#${fade})`} />}
      <path d={lineOf(finished)} fill="none" stroke="var(--accent-ink)" strokeWidth="2" strokeLinejoin="round" />
      <path d={lineOf(rest)} fill="none" stroke="var(--accent-ink)" strokeWidth="2" strokeDasharray="4 4" />
      {points.length === 1 && (
        <Bars
          point={points[0]}
          compares={compares}
          middle={edge.left + inner.width / 2}
          yOf={yOf}
          bottom={yOf(lowest)}
        />
      )}
      {here && at !== undefined && points.length > 1 && (
        <g>
          <line
            x1={edge.left + xOf(at, points.length, inner.width)}
            x2={edge.left + xOf(at, points.length, inner.width)}
            y1={edge.top}
            y2={heightPx - edge.bottom}
            stroke="var(--line-strong)"
            strokeDasharray="2 3"
          />
          {compares && here.previous !== null && (
            <Dot
              x={edge.left + xOf(at, points.length, inner.width)}
              y={yOf(here.previous)}
              color="var(--line-strong)"
            />
          )}
          {here.value !== null && (
            <Dot x={edge.left + xOf(at, points.length, inner.width)} y={yOf(here.value)} color="var(--accent-ink)" />
          )}
        </g>
      )}
    </svg>
  );
}

const barPx = 72;

/** A single point is no line: two bars show it beside the previous one. */
function Bars(props: {
  point: ChartPoint | undefined;
  compares: boolean;
  middle: number;
  yOf: (value: number) => number;
  bottom: number;
}) {
  const { point, compares, middle, yOf, bottom } = props;
  const bar = (left: number, value: number | null | undefined, look: object) =>
    typeof value === 'number' && (
      <rect x={left} width={barPx} y={Math.min(yOf(value), bottom)} height={Math.abs(bottom - yOf(value))} {...look} />
    );
  const dashed = { fill: 'var(--accent-soft)', stroke: 'var(--accent-ink)', strokeDasharray: '4 4', strokeWidth: 1.5 };
  return (
    <g>
      {compares && bar(middle - barPx - 6, point?.previous, { fill: 'var(--line-strong)' })}
      {bar(
        compares ? middle + 6 : middle - barPx / 2,
        point?.value,
        point?.unfinished ? dashed : { fill: 'var(--accent-ink)' },
      )}
    </g>
  );
}

function Dot({ x, y, color }: { x: number; y: number; color: string }) {
  return <circle cx={x} cy={y} r="4" fill={color} stroke="var(--surface)" strokeWidth="2" />;
}

const tooltipPx = 190;

function Tooltip({ point, x, width, compares, format }: ChartProps & { point: ChartPoint; x: number; width: number }) {
  const left = Math.min(
    Math.max(0, x + 14 + tooltipPx > width ? x - tooltipPx - 14 : x + 14),
    Math.max(0, width - tooltipPx),
  );
  return (
    <div
      className="pointer-events-none absolute top-2 z-10 rounded-[8px] border border-line bg-raised px-3 py-2 text-sm shadow-pop"
      style={{ left, width: tooltipPx }}
    >
      <TooltipLine
        color="bg-accent-ink"
        title={point.unfinished ? home.soFar(point.title) : point.title}
        value={point.value}
        format={format}
        strong
      />
      {compares && (
        <TooltipLine color="bg-line-strong" title={point.previousTitle} value={point.previous} format={format} />
      )}
    </div>
  );
}

interface TooltipLineProps {
  readonly color: string;
  readonly title: string;
  readonly value: number | null;
  readonly format: (value: number) => string;
  readonly strong?: boolean;
}

function TooltipLine({ color, title, value, format, strong = false }: TooltipLineProps) {
  return (
    <div className="py-0.5">
      <span className="flex items-center gap-1.5 text-xs text-muted">
        <span className={`size-2 rounded-full ${color}`} />
        {title}
      </span>
      <span className={`block tabular-nums ${strong ? 'font-semibold' : ''}`}>
        {value === null ? '—' : format(value)}
      </span>
    </div>
  );
}
