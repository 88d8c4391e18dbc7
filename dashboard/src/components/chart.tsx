import { lazy, Suspense } from 'react';

/** The drawing library is loaded when the first chart is shown. */
const Plot = lazy(() => import('./plot.tsx'));

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
  readonly bars?: boolean;
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
