import { Fragment, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Icon, type IconName } from '../../components/icons.tsx';
import { Skeleton } from '../../components/page.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { dayMs } from '../../../../server/platform/durations.ts';
import { timeOfDay } from '../../format.ts';
import { pageOfFound } from '../../navigation.ts';
import { Link } from '../../routing.tsx';
import { common } from '../../texts/common.ts';
import { sandboxSentence, sandboxTimelineTexts as texts } from '../../texts/sandbox-timeline.ts';
import type { SandboxTimeline as Timeline } from '../../types.ts';

type Entry = Timeline['data'][number];

const dayFormat = new Intl.DateTimeFormat('en-US', {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  year: 'numeric',
});
const dayOf = (iso: string): string => dayFormat.format(new Date(iso));
const startOf = (iso: string): number => new Date(iso).setHours(0, 0, 0, 0);

/** By the last part of the kind. */
const looks: Readonly<Record<string, readonly [icon: IconName, tone: string]>> = {
  authorized: ['card', 'text-muted'],
  paid: ['check', 'text-good'],
  won: ['check', 'text-good'],
  declined: ['close', 'text-bad'],
  failed: ['close', 'text-bad'],
  disputed: ['flag', 'text-bad'],
  lost: ['flag', 'text-bad'],
  email: ['mail', 'text-muted'],
  webhooks: ['webhook', 'text-muted'],
};

const lookOf = ({ kind, failed }: Entry): readonly [icon: IconName, tone: string] =>
  kind === 'webhooks' && failed > 0
    ? ['webhook', 'text-bad']
    : (looks[kind.split('_').at(-1) ?? ''] ?? ['bolt', 'text-muted']);

const folders: Readonly<Record<string, string>> = { webhook_endpoint: '/developers/webhooks/', coupon: '/coupons/' };

function pageOf({ type, id }: Entry['object']): string | undefined {
  if (type === 'order' || type === 'subscription' || type === 'customer') return pageOfFound[type](id);
  return folders[type] && folders[type] + id;
}

const shownFirst = 50;

/** The days from the latest to the earliest, each with its entries. Days without any are one line. */
export function SandboxTimeline({ from }: { from: string | undefined }) {
  const { data } = useGet<Timeline>(
    '/dashboard/sandbox/timeline',
    { ...(from && { from }) },
    // Emails are written after the payments that they are about.
    { keep: true, everyMs: lookEveryMs },
  );
  const [isLong, setLong] = useState(false);
  if (!data) return <Skeleton />;
  const entries = isLong ? data.data : data.data.slice(0, shownFirst);
  const days = Map.groupBy(entries, ({ at }) => startOf(at));
  if (days.size === 0) return <p className="py-2 text-muted">{texts.empty}</p>;
  const starts = [...days.keys()];
  return (
    <>
      {!from && <p className="mb-3 text-sm text-muted">{texts.lastDays}</p>}
      {starts.map((start, index) => {
        const later = starts[index - 1] ?? startOf(data.until) + dayMs;
        return (
          <Fragment key={start}>
            <QuietDays later={later} earlier={start} />
            <section className="mb-4">
              <h3 className="mb-1 font-semibold">{dayOf(days.get(start)?.[0]?.at ?? '')}</h3>
              <ol>
                {days.get(start)?.map((entry, at) => (
                  <Line key={`${entry.object.id}-${entry.at}-${at}`} entry={entry} />
                ))}
              </ol>
            </section>
          </Fragment>
        );
      })}
      {entries.length < data.data.length && (
        <Button small onClick={() => setLong(true)}>
          {common.showMore(data.data.length - entries.length)}
        </Button>
      )}
      {data.is_whole && entries.length === data.data.length && (
        <QuietDays later={starts.at(-1) ?? 0} earlier={startOf(data.from) - dayMs} />
      )}
      {!data.is_whole && <p className="text-sm text-muted">{texts.latestOnly}</p>}
    </>
  );
}

/** The days between two others. A day is an hour longer or shorter when the clocks change. */
function QuietDays({ later, earlier }: { later: number; earlier: number }) {
  const count = Math.round((later - earlier) / dayMs) - 1;
  if (count < 1) return null;
  return <p className="my-3 border-l-2 border-dotted border-line pl-4 text-sm text-muted">{texts.quietDays(count)}</p>;
}

function Line({ entry }: { entry: Entry }) {
  const { customer, object, kind } = entry;
  const [icon, tone] = lookOf(entry);
  const page = pageOf(object);
  const sentence = sandboxSentence(entry, dayOf);
  const name = kind === 'webhooks' ? entry.text : kind === 'coupon_expired' ? null : (customer?.name ?? texts.someone);
  return (
    <li className="flex items-baseline gap-3 py-1">
      <span className="w-18 shrink-0 text-right text-sm text-muted tabular-nums">{timeOfDay(entry.at)}</span>
      <span className={`translate-y-0.5 ${tone}`}>
        <Icon name={icon} size={15} />
      </span>
      <p className="min-w-0 wrap-anywhere">
        {name !== null && (
          <>
            {customer ? (
              <Link to={pageOfFound.customer(customer.id)} className="link">
                {name}
              </Link>
            ) : (
              name
            )}
            :{' '}
          </>
        )}
        {page ? (
          <Link to={page} className="link">
            {sentence}
          </Link>
        ) : (
          sentence
        )}
      </p>
    </li>
  );
}
