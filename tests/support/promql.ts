import assert from 'node:assert/strict';
import { parser } from '@prometheus-io/lezer-promql';

/** Evaluates the part of PromQL that the tested alerts use, once a minute, as `promtool test rules` does. */

type Node = ReturnType<typeof parser.parse>['topNode'];
type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly name: string;
  readonly labels: Labels;
  /** One value for each minute. */
  readonly values: readonly number[];
}

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** `1 0x9 5+2x3`: a value, a value with repetitions, a value with steps. */
function readValues(text: string): number[] {
  return text.split(' ').flatMap((part) => {
    const [, first, step = '0', times = '0'] = /^(-?[\d.]+)(?:([+-]\d+))?(?:x(\d+))?$/.exec(part) ?? assert.fail(part);
    return Array.from({ length: Number(times) + 1 }, (_, index) => Number(first) + index * Number(step));
  });
}

/** `name{label="value"}` */
export function readSeries(text: string, values: string): Series {
  const [, name = '', inside = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(text) ?? [];
  const labels = Object.fromEntries([...inside.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
  return { name, labels: labels as Labels, values: readValues(values) };
}

const keyOf = (labels: Labels, by?: readonly string[]): string =>
  JSON.stringify(
    Object.entries(labels)
      .filter(([name]) => by?.includes(name) ?? true)
      .toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );

const matches: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  '=': (value, wanted) => value === wanted,
  '!=': (value, wanted) => value !== wanted,
  '=~': (value, wanted) => new RegExp(`^(?:${wanted})$`).test(value),
};

const compares: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  Gtr: (left, right) => left > right,
  Eql: (left, right) => left === right,
};

const totals: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  count: (values) => values.length,
};

const unitMinutes: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 };

/** `5m`, `1h` or `1d` */
export function minutesOf(duration: string): number {
  const [, count, unit = ''] = /^(\d+)([mhd])$/.exec(duration) ?? assert.fail(duration);
  return Number(count) * (unitMinutes[unit] ?? 0);
}

/** What a counter grew in a range. Before the first sample it grew for at most half a minute more, and never from below 0. */
function growthOf(window: readonly number[], minutes: number): number {
  const [first = 0] = window;
  const growth = (window.at(-1) ?? 0) - first;
  const covered = window.length - 1;
  if (covered >= minutes || growth === 0) return growth;
  return growth * (1 + Math.min(0.5, (covered * first) / growth) / covered);
}

/** The value below which this share of the observations is, between the bounds of its bucket. */
function quantileOf(share: number, buckets: readonly Sample[]): number {
  const sorted = buckets
    .map(({ labels, value }) => ({ bound: labels['le'] === '+Inf' ? Infinity : Number(labels['le']), value }))
    .toSorted((left, right) => left.bound - right.bound);
  const rank = share * (sorted.at(-1)?.value ?? 0);
  const index = sorted.findIndex(({ value }) => value >= rank);
  const [below, bucket] = [sorted[index - 1] ?? { bound: 0, value: 0 }, sorted[index]];
  if (!bucket || bucket.bound === Infinity) return below.bound;
  return below.bound + ((bucket.bound - below.bound) * (rank - below.value)) / (bucket.value - below.value);
}

const sets: Readonly<Record<string, (left: Sample[], right: Sample[], isIn: (one: Sample) => boolean) => Sample[]>> = {
  And: (left, _right, isIn) => left.filter(isIn),
  Unless: (left, _right, isIn) => left.filter((one) => !isIn(one)),
  Or: (left, right) => [...left, ...right],
};

export function evaluate(query: string, series: readonly Series[], minute: number): Sample[] {
  const textOf = ({ from, to }: Node): string => query.slice(from, to);
  const childrenOf = (node: Node): Node[] => {
    const found: Node[] = [];
    for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
    return found;
  };
  const labelNames = (node: Node | undefined | null): string[] => (node ? (textOf(node).match(/\w+/g) ?? []) : []);

  const selected = (node: Node): Series[] => {
    const name = textOf(node.getChild('Identifier') ?? assert.fail());
    const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
    const wanted = matchers.map((one) => /^(\w+)([=!~]+)"(.*)"$/.exec(textOf(one)) ?? assert.fail(textOf(one)));
    return series.filter(
      (one) =>
        one.name === name &&
        wanted.every(([, label = '', operator = '', value = '']) =>
          matches[operator]?.(one.labels[label] ?? '', value),
        ),
    );
  };

  const evaluators: Readonly<Record<string, (node: Node) => Sample[]>> = {
    PromQL: (node) => of(node.firstChild ?? assert.fail()),
    ParenExpr: (node) => of(node.firstChild ?? assert.fail()),
    VectorSelector: (node) =>
      selected(node).flatMap(({ labels, values }) => {
        const value = values[minute];
        return value === undefined ? [] : [{ labels, value }];
      }),
    FunctionCall(node) {
      const [name = ''] = childrenOf(node).map(textOf);
      const given = childrenOf(node.getChild('FunctionCallBody') ?? assert.fail());
      const last = given.at(-1) ?? assert.fail();
      if (name === 'abs') return of(last).map(({ labels, value }) => ({ labels, value: Math.abs(value) }));
      if (name === 'histogram_quantile') {
        const buckets = of(last);
        return buckets.length === 0
          ? []
          : [{ labels: {}, value: quantileOf(Number(textOf(given[0] ?? last)), buckets) }];
      }
      const minutes = minutesOf(/\[(\w+)\]$/.exec(textOf(last))?.[1] ?? '');
      const per = { increase: 1, rate: 1 / (minutes * 60) }[name] ?? assert.fail(`${name} is not supported`);
      return selected(last.getChild('VectorSelector') ?? assert.fail()).flatMap(({ labels, values }) => {
        const window = values.slice(Math.max(0, minute - minutes), minute + 1);
        return window.length < 2 ? [] : [{ labels, value: growthOf(window, minutes) * per }];
      });
    },
    AggregateExpr(node) {
      const [operator = ''] = childrenOf(node).map(textOf);
      const by = labelNames(node.getChild('AggregateModifier')?.getChild('GroupingLabels'));
      const inner = of(node.getChild('FunctionCallBody')?.firstChild ?? assert.fail());
      return [...Map.groupBy(inner, ({ labels }) => keyOf(labels, by))].map(([key, group]) => ({
        labels: Object.fromEntries(JSON.parse(key) as [string, string][]),
        value: (totals[operator] ?? assert.fail(operator))(group.map(({ value }) => value)),
      }));
    },
    BinaryExpr(node) {
      const [left, operator, ...others] = childrenOf(node);
      const right = others.at(-1);
      assert.ok(left && operator && right);
      const compare = compares[operator.name];
      if (compare) return of(left).filter(({ value }) => compare(value, Number(textOf(right))));
      const on = node.getChild('MatchingModifierClause')?.getChild('GroupingLabels');
      const by = on ? labelNames(on) : undefined;
      const other = new Map(of(right).map((one) => [keyOf(one.labels, by), one]));
      const isIn = ({ labels }: Sample): boolean => other.has(keyOf(labels, by));
      if (operator.name === 'Div')
        return of(left)
          .filter(isIn)
          .map(({ labels, value }) => ({ labels, value: value / (other.get(keyOf(labels, by))?.value ?? 0) }));
      return (sets[operator.name] ?? assert.fail(operator.name))(of(left), of(right), isIn);
    },
  };
  const of = (node: Node): Sample[] => (evaluators[node.name] ?? assert.fail(`${node.name} is not supported`))(node);
  return of(parser.parse(query).topNode);
}
