import { lazy, Suspense, useMemo } from 'react';
import { CardTesting } from '../../components/card-testing.tsx';
import { CardWarnings } from '../../components/card-warnings.tsx';
import { Chart, type ChartPoint } from '../../components/chart.tsx';
import { TimeZone } from '../../components/date-time.tsx';
import { Load, Page, Panel, Skeleton } from '../../components/page.tsx';
import { RestoredNotice } from '../../components/restored-notice.tsx';
import { SampleDataNotice } from '../../components/sample-data.tsx';
import { useFilters, useFirstData, useGet } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { home } from '../../texts/home.ts';
import type { CreditOwed as Owed, FigureName, Statistics } from '../../types.ts';
import { ArrangeCards, useArrangedMetrics } from './arrange-cards.tsx';
import { NeedsAttention } from './attention.tsx';
import { MetricCards } from './cards.tsx';
import { Declines } from './declines.tsx';
import { GettingStarted } from './getting-started.tsx';
import { LatestOrders } from './latest-orders.tsx';
import { bucketLabel, bucketTitle, formatOf, metrics, rangeText } from './metrics.ts';
import { RevenueChanges } from './revenue.tsx';
import { Controls } from './range-picker.tsx';

const GoingLiveNotice = lazy(async () => ({
  default: (await import('../../components/going-live.tsx')).GoingLiveNotice,
}));
const CreditOwed = lazy(async () => ({ default: (await import('./credit-owed.tsx')).CreditOwed }));

/** While the page is open, today's figures stay up to date. */
const everyMs = 60_000;
const statisticsPath = '/dashboard/statistics';

export function HomePage() {
  const { company } = useSignedIn();
  const [{ range, from, to, interval, currency }] = useFilters();
  const hasFigures = ['orders:read', 'subscriptions:read', 'customers:read'].some((permission) =>
    company.permissions.includes(permission),
  );
  const query = useGet<Statistics>(
    statisticsPath,
    { range, from, to, interval, currency },
    { keep: true, everyMs, enabled: hasFigures },
  );
  const isThere = useFirstData(statisticsPath);
  return (
    <Page
      title={home.title}
      lead={hasFigures && home.zone(company.time_zone.replaceAll('_', ' '))}
      actions={hasFigures && isThere && <Controls statistics={query.data} />}
    >
      <TimeZone value={company.time_zone}>
        {!isThere && <Skeleton lines={16} />}
        <Suspense>
          {/* The parts load unseen, and all appear at once. */}
          <div className={isThere ? '' : 'invisible h-0 overflow-hidden'}>
            <RestoredNotice />
            <SampleDataNotice />
            <CardWarnings />
            <CardTesting />
            <FirstSteps />
            {hasFigures && <Load query={query}>{(statistics) => <Figures statistics={statistics} />}</Load>}
            {!hasFigures && <NeedsAttention />}
            {company.permissions.includes('orders:read') && <LatestOrders />}
          </div>
        </Suspense>
      </TimeZone>
    </Page>
  );
}

/** A live company without the permission to see its settings gets the steps of the sandbox. */
function FirstSteps() {
  const { company } = useSignedIn();
  const goesLive = company.mode === 'live' && company.permissions.includes('company:read');
  return goesLive ? <GoingLiveNotice /> : <GettingStarted />;
}

function Figures({ statistics }: { statistics: Statistics }) {
  const [filters, change] = useFilters();
  const arranged = useArrangedMetrics();
  const shown = arranged.filter(({ name }) => statistics.figures[name] !== null);
  const metric = shown.find(({ name }) => name === filters.figure) ?? shown[0];
  const compares = filters.compare !== 'off';
  const first = shown[0]?.name;
  if (!metric) return <NeedsAttention />;
  return (
    <>
      <MetricCards
        statistics={statistics}
        chosen={metric.name}
        choose={(name) => change({ figure: name === first ? undefined : name })}
        shown={shown}
        actions={<ArrangeCards shown={arranged} />}
      />
      <div className="grid items-start gap-x-10 xl:grid-cols-[minmax(0,2fr)_minmax(18rem,1fr)]">
        <Panel title={home.metrics[metric.name][0]}>
          <FigureChart statistics={statistics} name={metric.name} compares={compares} />
        </Panel>
        <div className="min-w-0">
          <NeedsAttention />
          <Owing />
          <RevenueChanges statistics={statistics} />
          {statistics.declines && <Declines declines={statistics.declines} />}
        </div>
      </div>
    </>
  );
}

/** Not shown if the company never owed any credit. */
function Owing() {
  const { data } = useGet<Owed>('/dashboard/credit', {}, { enabled: useCan('credit:read') });
  if (!data || data.data.length === 0) return null;
  return (
    <Suspense>
      <CreditOwed sums={data.data} />
    </Suspense>
  );
}

const emptyTops = { money: 10_000, count: 4, rate: 1 } as const;

interface FigureChartProps {
  readonly statistics: Statistics;
  readonly name: FigureName;
  readonly compares: boolean;
}

function FigureChart({ statistics, name, compares }: FigureChartProps) {
  const { buckets, previous_buckets, interval, currency, figures } = statistics;
  const metric = metrics.find((one) => one.name === name);
  const figure = figures[name];
  const points = useMemo(
    () =>
      buckets.map((bucket, index): ChartPoint => {
        const before = previous_buckets[index] ?? bucket;
        return {
          label: bucketLabel(bucket, interval),
          title: bucketTitle(bucket),
          value: figure?.series[index] ?? null,
          previousTitle: bucketTitle(before),
          previous: figure?.previous_series[index] ?? null,
          unfinished: bucket.unfinished,
        };
      }),
    [buckets, previous_buckets, interval, figure],
  );
  if (!metric) return null;
  const { full, axis } = formatOf(metric, currency);
  return (
    <>
      <p className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-sm text-muted">
        <Key color="bg-accent-ink" text={rangeText(statistics.from, statistics.to)} />
        {compares && <Key color="bg-line-strong" text={rangeText(statistics.previous_from, statistics.previous_to)} />}
      </p>
      <Chart
        label={home.metrics[name][0]}
        points={points}
        compares={compares}
        format={full}
        short={axis}
        whole={metric.kind === 'count'}
        emptyTop={emptyTops[metric.kind]}
      />
    </>
  );
}

function Key({ color, text }: { color: string; text: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden="true" className={`h-0.5 w-4 rounded ${color}`} />
      {text}
    </span>
  );
}
