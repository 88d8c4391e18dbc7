import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { home } from '../texts/home.ts';
import { useTheme } from '../theme.ts';
import type { ChartProps } from './chart.tsx';

const heightPx = 224;
/** Height of the axis if there are no amounts. */
const emptyCents = 1_000;
const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 1_000_000];

export default function Plot({ days, series, format, short, whole = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const { dark } = useTheme();
  useEffect(() => {
    const target = place.current;
    if (!target) return undefined;
    const style = getComputedStyle(target);
    const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    const colors = { accent: color('accent-ink'), bad: color('bad') };
    const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
    const options: UPlot.Options = {
      width: target.clientWidth,
      height: heightPx,
      cursor: { points: { size: 7 }, drag: { x: false, y: false } },
      padding: [8, 8, 0, 0],
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), 'UTC'),
      scales: { y: { range: (_plot, _low, high) => [0, (high > 0 ? high : whole ? 1 : emptyCents) * 1.1] } },
      axes: [
        { ...axis, grid: { show: false }, values: '{MMM} {D}', size: 32 },
        {
          ...axis,
          size: 56,
          ...(whole ? { incrs: wholeSteps } : {}),
          values: (_plot, values) => values.map((value) => short(value)),
        },
      ],
      series: [
        { label: home.day, value: '{YYYY}-{MM}-{DD}' },
        ...series.map(({ name, tone }) => ({
          label: name,
          stroke: colors[tone],
          fill: `${colors[tone]}22`,
          width: 2,
          points: { show: false },
          value: (_plot: UPlot, value: number | null) => (value === null ? '—' : format(value)),
        })),
      ],
      // Without a pointer on the chart, the legend shows the last day.
      hooks: {
        setCursor: [(plot) => plot.cursor.idx === null && plot.setLegend({ idx: days.length - 1 }, false)],
      },
    };
    const times = days.map((day) => Date.parse(day) / 1000);
    const plot = new UPlot(options, [times, ...series.map(({ values }) => [...values])], target);
    plot.setLegend({ idx: days.length - 1 }, false);
    const observer = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height: heightPx }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [days, series, format, short, whole, dark]);
  return <div ref={place} aria-hidden="true" className="min-h-64 overflow-hidden text-sm" />;
}
