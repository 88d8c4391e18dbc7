import { useEffect, useRef, useState } from 'react';
import { useGet } from '../data.ts';
import { common } from '../texts/common.ts';
import { timelineText } from '../texts/timeline.ts';
import type { TimelineEntry } from '../types.ts';
import { Button } from './button.tsx';
import { DateTime } from './date-time.tsx';
import { Icon, type IconName } from './icons.tsx';
import { Panel, Skeleton } from './page.tsx';
import { Link } from '../routing.tsx';

type Tone = 'good' | 'bad' | 'warn' | 'plain';

/** The look of an event: by its type, or by the first part of it. */
const looks: Readonly<Record<string, readonly [icon: IconName, tone: Tone]>> = {
  order: ['orders', 'plain'],
  'order.succeeded': ['check', 'good'],
  'order.authorized': ['card', 'plain'],
  'order.failed': ['close', 'bad'],
  'order.refunded': ['transactions', 'plain'],
  'order.partially_refunded': ['transactions', 'plain'],
  'order.refund_failed': ['warning', 'bad'],
  'order.voided': ['close', 'plain'],
  'order.chargeback': ['flag', 'bad'],
  'order.chargeback_accepted': ['flag', 'bad'],
  'order.chargeback_dismissed': ['flag', 'good'],
  subscription: ['subscriptions', 'plain'],
  'subscription.created': ['subscriptions', 'good'],
  'subscription.past_due': ['warning', 'warn'],
  'subscription.failed': ['close', 'bad'],
  'subscription.recovered': ['check', 'good'],
  'subscription.canceled': ['close', 'plain'],
  customer: ['team', 'plain'],
  payment_method: ['card', 'plain'],
  checkout_session: ['link', 'plain'],
};

const tones: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  bad: 'bg-bad-soft text-bad',
  warn: 'bg-warn-soft text-warn',
  plain: 'bg-sunken text-muted',
};

const pages: Readonly<Record<string, string>> = {
  order: '/orders/',
  subscription: '/subscriptions/',
  customer: '/customers/',
};

interface TimelineProps {
  readonly objectId: string;
  readonly state?: string;
  /** For a page that says itself why charges failed. */
  readonly withoutReasons?: boolean;
}

/** Reloads the timeline whenever `state` changes. */
export function Timeline({ objectId, state, withoutReasons = false }: TimelineProps) {
  const shown = useRef(state);
  const entries = useGet<{ data: readonly TimelineEntry[] }>('/dashboard/timeline', { object_id: objectId });
  useEffect(() => {
    if (shown.current !== state) void entries.refetch();
    shown.current = state;
  }, [state, entries]);
  return (
    <Panel title={common.timeline}>
      {entries.data ? (
        <Events
          entries={entries.data.data
            .map((entry) => (withoutReasons ? { ...entry, failure: null } : entry))
            .toReversed()}
        />
      ) : entries.error ? (
        <p className="text-muted">{entries.error.message}</p>
      ) : (
        <Skeleton />
      )}
    </Panel>
  );
}

const shownFirst = 8;

function Events({ entries }: { entries: readonly TimelineEntry[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? entries : entries.slice(0, shownFirst);
  return (
    <>
      <Entries>
        {shown.map((entry, index) => (
          <EventEntry key={`${entry.at}-${index}`} entry={entry} />
        ))}
      </Entries>
      {shown.length < entries.length && (
        <Button small className="mt-4" onClick={() => setWhole(true)}>
          {common.showMore(entries.length - shown.length)}
        </Button>
      )}
    </>
  );
}

function EventEntry({ entry }: { entry: TimelineEntry }) {
  const { type, object, actor, is_own } = entry;
  const [kind = ''] = type.split('.');
  const [icon, tone] = looks[type] ?? looks[kind] ?? ['bolt', 'plain'];
  const page = is_own ? undefined : pages[object.type];
  return (
    <Row icon={icon} tone={tone} at={entry.at} text={timelineText(entry)}>
      {page && object.title && (
        <>
          {' '}
          ·{' '}
          <Link to={page + object.id} className="link underline">
            {object.title}
          </Link>
        </>
      )}
      {actor && ` · ${common.by(actor.name)}`}
    </Row>
  );
}

interface Entry {
  readonly at: string;
  readonly summary: string;
}

/** Entries that a page writes itself. The newest comes first. */
export function TimelineList({ entries }: { entries: readonly Entry[] }) {
  return (
    <Entries>
      {entries.map(({ at, summary }, index) => (
        <Row key={`${at}-${index}`} icon="bolt" tone="plain" at={at} text={summary} />
      ))}
    </Entries>
  );
}

function Entries({ children }: { children: readonly React.ReactNode[] }) {
  if (children.length === 0) return <p className="text-muted">{common.nothingYet}</p>;
  return <ol>{children}</ol>;
}

interface RowProps {
  readonly icon: IconName;
  readonly tone: Tone;
  readonly at: string;
  readonly text: string;
  readonly children?: React.ReactNode;
}

/** A line connects the marks. */
function Row({ icon, tone, at, text, children }: RowProps) {
  return (
    <li className="relative flex gap-3 pb-4 last:pb-0 not-last:before:absolute not-last:before:top-7 not-last:before:bottom-0 not-last:before:left-[13px] not-last:before:w-px not-last:before:bg-line">
      <span className={`inline-flex size-7 shrink-0 items-center justify-center rounded-full ${tones[tone]}`}>
        <Icon name={icon} size={15} />
      </span>
      <div className="min-w-0 pt-0.5">
        <p className="wrap-anywhere">{text}</p>
        <p className="text-sm text-muted wrap-anywhere">
          <DateTime at={at} />
          {children}
        </p>
      </div>
    </li>
  );
}
