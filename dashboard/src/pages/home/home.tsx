import { useMemo } from 'react';
import { dayMs } from '../../../../server/platform/durations.ts';
import { useNowMs } from '../../clock.ts';
import { CardTesting } from '../../components/card-testing.tsx';
import { CardWarnings } from '../../components/card-warnings.tsx';
import { Chart } from '../../components/chart.tsx';
import { SelectFilter, TextFilter } from '../../components/select-filter.tsx';
import { GoingLiveNotice } from '../../components/going-live.tsx';
import { Load, Page, Panel } from '../../components/page.tsx';
import { RestoredNotice } from '../../components/restored-notice.tsx';
import { Table } from '../../components/table.tsx';
import { TextLink } from '../../components/button.tsx';
import { useFilters, useGet } from '../../data.ts';
import { isoDay, money, shortMoney, words } from '../../format.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { home } from '../../texts/home.ts';
import type { FigureName, Statistics } from '../../types.ts';
import { GettingStarted } from './getting-started.tsx';
import { LatestOrders } from './latest-orders.tsx';

function usePeriod(nowMs: number): { from: string; to: string; days: string } {
  const [{ days = '30', from, to }] = useFilters();
  const dayBefore = (count: number): string => isoDay(new Date(nowMs - count * dayMs));
  if (days === 'custom') return { days, from: from ?? dayBefore(29), to: to ?? dayBefore(0) };
  return { days, from: dayBefore(Number(days) - 1), to: dayBefore(0) };
}

export function HomePage() {
  const [{ currency }] = useFilters();
  const nowMs = useNowMs();
  const { from, to, days } = usePeriod(nowMs ?? Date.now());
  const canOrders = useCan('orders:read');
  const query = useGet<Statistics>(
    '/dashboard/statistics',
    { from, to, currency },
    { keep: true, enabled: canOrders && nowMs !== undefined },
  );
  const currencies = query.data?.currencies ?? [];
  if (!canOrders) {
    return (
      <Page title={home.title}>
        <RestoredNotice />
        <CardWarnings />
        <CardTesting />
        <FirstSteps />
      </Page>
    );
  }
  return (
    <Page
      title={home.title}
      actions={
        <>
          <SelectFilter
            name="days"
            label={home.period}
            choices={Object.entries(home.periods).map(([value, label]) => ({
              value: value === '30' ? '' : value,
              label,
            }))}
          />
          {days === 'custom' && (
            <>
              <TextFilter name="from" label={home.from} type="date" />
              <TextFilter name="to" label={home.to} type="date" />
            </>
          )}
          {currencies.length > 1 && (
            <SelectFilter
              name="currency"
              label={home.currency}
              choices={currencies.map((code) => ({ value: code, label: code.toUpperCase() }))}
            />
          )}
        </>
      }
    >
      <RestoredNotice />
      <CardWarnings />
      <CardTesting />
      <FirstSteps />
      <Load query={query}>{(statistics) => <Figures statistics={statistics} />}</Load>
      <LatestOrders />
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
  const { currency, figures } = statistics;
  const value = (name: FigureName): number => figures[name]?.value ?? 0;
  const totals = {
    volume: value('gross_volume'),
    refunded: value('refunded'),
    succeeded_count: value('payments'),
    failed_count: value('failed_payments'),
    active_subscriptions: figures.active_subscribers?.value ?? null,
    new_customers: figures.new_customers?.value ?? null,
  };
  const declines = statistics.declines ?? [];
  const days = useMemo(
    () =>
      statistics.buckets.map((bucket, index) => ({
        date: bucket.from,
        volume: figures.gross_volume?.series[index] ?? 0,
        succeeded_count: figures.payments?.series[index] ?? 0,
        failed_count: figures.failed_payments?.series[index] ?? 0,
      })),
    [statistics, figures],
  );
  const charges = totals.succeeded_count + totals.failed_count;
  const formatMoney = useMemo(() => (value: number) => money(Math.round(value), currency), [currency]);
  const axisMoney = useMemo(() => (value: number) => shortMoney(value, currency), [currency]);
  const shown = useMemo(() => days.map(({ date }) => date), [days]);
  const volume = useMemo(
    () => [{ name: home.volume, tone: 'accent' as const, values: days.map((day) => day.volume) }],
    [days],
  );
  const counts = useMemo(
    () => [
      { name: home.succeeded, tone: 'accent' as const, values: days.map((day) => day.succeeded_count) },
      { name: home.declined, tone: 'bad' as const, values: days.map((day) => day.failed_count) },
    ],
    [days],
  );
  return (
    <>
      <dl className="mb-5 grid grid-cols-2 gap-3 sm:gap-4 xl:grid-cols-4">
        <Figure
          label={home.volume}
          value={money(totals.volume, currency)}
          hint={home.volumeHint(money(totals.refunded, currency))}
        />
        <Figure
          label={home.successRate}
          value={charges === 0 ? '—' : `${((100 * totals.succeeded_count) / charges).toFixed(1)} %`}
          hint={charges === 0 ? home.noCharges : home.successHint(totals.succeeded_count, charges)}
        />
        {totals.active_subscriptions !== null && (
          <Figure label={home.activeSubscriptions} value={String(totals.active_subscriptions)} hint="" />
        )}
        {totals.new_customers !== null && (
          <Figure label={home.newCustomers} value={String(totals.new_customers)} hint="" />
        )}
      </dl>
      <div className="grid items-start gap-x-10 xl:grid-cols-2">
        <Panel title={home.volumeOverTime}>
          <Chart label={home.volumeOverTime} days={shown} series={volume} format={formatMoney} short={axisMoney} />
        </Panel>
        <Panel title={home.chargesOverTime}>
          <Chart label={home.chargesOverTime} days={shown} series={counts} format={String} short={String} whole />
        </Panel>
      </div>
      <Panel title={home.declinesByReason} flush>
        {declines.length === 0 ? (
          <p className="p-5 text-muted">{home.noDeclines}</p>
        ) : (
          <Table
            label={home.declinesByReason}
            rows={declines}
            keyOf={({ failure_code }) => failure_code}
            columns={[
              { header: home.reason, cell: ({ failure_code }) => words(failure_code) },
              {
                header: home.count,
                end: true,
                cell: ({ count }) => (
                  <span className="flex items-center justify-end gap-3">
                    <meter
                      aria-label={home.count}
                      className="w-32 max-sm:hidden"
                      min={0}
                      max={Math.max(totals.failed_count, count)}
                      value={count}
                    />
                    <TextLink to="/orders" search={{ status: 'failed' }}>
                      {count}
                    </TextLink>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Panel>
    </>
  );
}

function Figure({ label, value, hint }: { label: string; value: string; hint: string }) {
  return (
    <div className="panel px-4 py-3 sm:px-5 sm:py-4">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="mt-0.5 text-2xl font-semibold tracking-tight tabular-nums">{value}</dd>
      <dd className="text-sm text-muted">{hint}</dd>
    </div>
  );
}
