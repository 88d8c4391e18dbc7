import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { catalogue, type MetricName, metricOf } from './metric-catalogue.ts';

/**
 * Counters and histograms belong to the process, so code that counts needs nothing but the name. They are counted in
 * memory. Gauges are read when `/metrics` is read.
 */

type NamesOf<Kind extends string> = {
  [Name in MetricName]: (typeof catalogue)[Name] extends { readonly kind: Kind } ? Name : never;
}[MetricName];

type LabelValues<Values> = Values extends readonly (infer Value)[] ? Value : string;
type LabelsOf<Name extends MetricName> = (typeof catalogue)[Name] extends { readonly labels: infer Labels }
  ? { readonly [Label in keyof Labels]: LabelValues<Labels[Label]> }
  : Record<string, never>;

/** The value of a gauge when it was read. */
export type Sample = {
  [Name in NamesOf<'gauge'>]: { readonly name: Name; readonly value: number; readonly labels?: LabelsOf<Name> };
}[NamesOf<'gauge'>];

const ofProcess = new Registry();
collectDefaultMetrics({ register: ofProcess });
const defaults = ofProcess.getMetricsAsArray().map(({ name }) => name);

/** Few enough to show from the start, so that an alert also notices the first increment. */
const zerosMax = 8;

const counters = new Map<string, Counter>();
const histograms = new Map<string, Histogram>();
for (const name of Object.keys(catalogue) as MetricName[]) {
  const { kind, help, labels = {}, buckets } = metricOf(name);
  const options = { name, help, labelNames: Object.keys(labels), registers: [ofProcess] };
  if (kind === 'counter') counters.set(name, withZeros(new Counter(options), labels));
  if (kind === 'histogram') histograms.set(name, new Histogram({ ...options, buckets: [...(buckets ?? [])] }));
}

function withZeros(metric: Counter, labels: Readonly<Record<string, readonly string[] | string>>): Counter {
  let combinations: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (typeof values === 'string') return metric;
    combinations = combinations.flatMap((known) => values.map((value) => ({ ...known, [label]: value })));
  }
  if (combinations.length <= zerosMax) for (const known of combinations) metric.inc(known, 0);
  return metric;
}

export function counter<Name extends NamesOf<'counter'>>(name: Name): (labels: LabelsOf<Name>, by?: number) => void {
  const found = counters.get(name);
  return (labels, by = 1) => found?.inc(labels, by);
}

export function histogram<Name extends NamesOf<'histogram'>>(
  name: Name,
): (labels: LabelsOf<Name>, value: number) => void {
  const found = histograms.get(name);
  return (labels, value) => found?.observe(labels, value);
}

/** A metric with its values now. */
export interface MetricFigures {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Partial<Record<string, string | number>>>;
    /** The part of a histogram: its buckets, sum or count. */
    readonly metricName?: string;
  }[];
}

export interface Metrics {
  readonly contentType: string;
  /** The metrics of the roles of this process, as Prometheus reads them. */
  text(): Promise<string>;
  /** The same for other formats. If they are not fresh, gauges have the values of the last reading. */
  figures(isFresh: boolean): Promise<readonly MetricFigures[]>;
}

/** A gauge keeps its last value if there is no new one, for example while the database does not answer. */
export function createMetrics(roles: readonly string[], read: () => Promise<readonly Sample[]>): Metrics {
  const names = (Object.keys(catalogue) as MetricName[]).filter((name) => {
    const of = metricOf(name).roles;
    return of === undefined || of.some((role) => roles.includes(role));
  });
  const registry = new Registry();
  const gauges = new Map<string, Gauge>();
  for (const name of names) {
    const { kind, help, labels = {} } = metricOf(name);
    if (kind !== 'gauge') continue;
    const gauge = new Gauge({ name, help, labelNames: Object.keys(labels), registers: [registry] });
    // Without a label it would begin with 0, also where there is nothing to read.
    gauge.remove({});
    gauges.set(name, gauge);
  }
  const registryOf = (name: string): Registry => (gauges.has(name) ? registry : ofProcess);
  const all = [...names, ...defaults];
  const readAll = async (): Promise<void> => {
    for (const { name, value, labels = {} } of await read()) gauges.get(name)?.set(labels, value);
  };
  return {
    contentType: registry.contentType,
    async text() {
      await readAll();
      return `${(await Promise.all(all.map((name) => registryOf(name).getSingleMetricAsString(name)))).join('\n\n')}\n`;
    },
    async figures(isFresh) {
      if (isFresh) await readAll();
      const found = all.map(async (name) => registryOf(name).getSingleMetric(name)?.get());
      // Their types have numbers as the kind of a metric, but it is a word.
      return (await Promise.all(found)) as unknown as MetricFigures[];
    },
  };
}
