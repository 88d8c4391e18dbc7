import type { HrTime } from '@opentelemetry/api';
import type { MetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import type { MetricFigures } from '../metrics.ts';
import type { Libraries } from './libraries.ts';

/**
 * The figures of `/metrics` as OpenTelemetry has them: the same names, labels and values, read from the same counters.
 */

type Values = MetricFigures['values'];
type Labels = Values[number]['labels'];

interface Period {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

const units: readonly (readonly [RegExp, string])[] = [
  [/_seconds(_total)?$/, 's'],
  [/_bytes(_total)?$/, 'By'],
];

export function metricProducer(
  libraries: Libraries,
  resource: ReturnType<Libraries['resources']['defaultResource']>,
  read: () => Promise<readonly MetricFigures[]>,
): MetricProducer {
  // Counters begin with 0 when the process starts.
  const startTime = libraries.core.millisToHrTime(Math.round(performance.timeOrigin));
  return {
    async collect() {
      const period = { startTime, endTime: libraries.core.millisToHrTime(Date.now()) };
      const figures = await read();
      const metrics = figures.filter(({ values }) => values.length > 0).map((one) => metricOf(libraries, one, period));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'svc' }, metrics }] }, errors: [] };
    },
  };
}

function metricOf({ api, metrics: sdk }: Libraries, figures: MetricFigures, period: Period): MetricData {
  const { name, help, type, values } = figures;
  const unit = units.find(([ending]) => ending.test(name))?.[1] ?? '';
  const common = {
    descriptor: { name, description: help, unit, valueType: api.ValueType.DOUBLE },
    aggregationTemporality: sdk.AggregationTemporality.CUMULATIVE,
  };
  const points = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...period, attributes: attributesOf(labels), value }));
  if (type === 'histogram') {
    const dataPoints = histograms(figures).map((point) => ({ ...period, ...point }));
    return { ...common, dataPointType: sdk.DataPointType.HISTOGRAM, dataPoints };
  }
  if (type === 'counter') {
    return { ...common, dataPointType: sdk.DataPointType.SUM, isMonotonic: true, dataPoints: points };
  }
  return { ...common, dataPointType: sdk.DataPointType.GAUGE, dataPoints: points };
}

const attributesOf = (labels: Labels): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));

/** Prometheus counts each bucket with all smaller ones, OpenTelemetry alone. */
function histograms({ name, values }: MetricFigures) {
  const points = new Map<string, Histogram>();
  for (const { metricName, value, labels } of values) {
    const { le, ...others } = labels;
    const attributes = attributesOf(others);
    const key = JSON.stringify(attributes);
    const point = points.get(key) ?? { attributes, boundaries: [], cumulative: [], sum: 0, count: 0 };
    points.set(key, point);
    if (metricName === `${name}_sum`) point.sum = value;
    else if (metricName === `${name}_count`) point.count = value;
    else {
      point.cumulative.push(value);
      if (le !== '+Inf') point.boundaries.push(Number(le));
    }
  }
  return [...points.values()].map(({ attributes, boundaries, cumulative, sum, count }) => {
    const counts = cumulative.map((value, index) => value - (cumulative[index - 1] ?? 0));
    return { attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

interface Histogram {
  readonly attributes: Record<string, string>;
  readonly boundaries: number[];
  readonly cumulative: number[];
  sum: number;
  count: number;
}
