import { type ComponentType, lazy, Suspense } from 'react';

/**
 * The chart library is loaded when the first chart is shown. It fails in a browser without a language, for example with
 * `LANG=C`. The page then shows the numbers without the chart.
 */
const Plot = lazy<ComponentType<ChartProps>>(() => import('./plot.tsx').catch(() => ({ default: () => null })));

export interface ChartProps {
  readonly label: string;
  /** Days, as `2026-02-11`. */
  readonly days: readonly string[];
  readonly series: readonly {
    readonly name: string;
    readonly values: readonly number[];
    readonly tone: 'accent' | 'bad';
  }[];
  readonly format: (value: number) => string;
  /** Short texts for the axis. */
  readonly short: (value: number) => string;
  /** Values are counts, so the axis has only whole numbers. */
  readonly whole?: boolean;
}

export function Chart(props: ChartProps) {
  return (
    <figure className="m-0">
      <Suspense fallback={<div className="h-56" />}>
        <Plot {...props} />
      </Suspense>
      <figcaption className="sr-only">
        <table>
          <caption>{props.label}</caption>
          <tbody>
            {props.days.map((day, index) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                {props.series.map(({ name, values }) => (
                  <td key={name}>{props.format(values[index] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </figcaption>
    </figure>
  );
}
