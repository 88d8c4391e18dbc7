import { DateTime } from '../../components/date-time.tsx';
import { Icon, type IconName } from '../../components/icons.tsx';
import { Panel, Skeleton } from '../../components/page.tsx';
import { useNowMs } from '../../clock.ts';
import { useGet } from '../../data.ts';
import { expiringMonths } from '../../list-filters.ts';
import { home } from '../../texts/home.ts';
import type { Attention } from '../../types.ts';
import { Link } from '../../routing.tsx';

type Entry = Attention['data'][number];

interface Look {
  readonly icon: IconName;
  readonly tone: 'bad' | 'warn';
  /** Where to see them; `one` is the page of a single object. */
  readonly to: string;
  readonly one?: string;
  readonly search?: Record<string, string>;
}

const looks: Readonly<Record<Entry['kind'], Look>> = {
  agents_asking: { icon: 'shield', tone: 'bad', to: '/approvals', one: '/approvals/' },
  authorizations_ending: { icon: 'card', tone: 'warn', to: '/orders', one: '/orders/', search: { authorized: 'true' } },
  disputes_due: { icon: 'flag', tone: 'bad', to: '/disputes', one: '/disputes/', search: { status: 'needs_response' } },
  chargebacks_unmatched: { icon: 'flag', tone: 'bad', to: '/disputes' },
  payments_in_doubt: { icon: 'warning', tone: 'warn', to: '/in-doubt' },
  processors_refusing: { icon: 'bolt', tone: 'bad', to: '/settings/processors' },
  processors_rejecting: { icon: 'bolt', tone: 'bad', to: '/settings/processors' },
  processors_wanting_codes: { icon: 'bolt', tone: 'bad', to: '/settings/processors' },
  renewals_waiting: { icon: 'subscriptions', tone: 'warn', to: '/settings/processors', one: '/orders/' },
  notices_refused: { icon: 'bolt', tone: 'warn', to: '/settings/processors' },
  processors_unlinked: { icon: 'bolt', tone: 'warn', to: '/settings/processors' },
  processors_failing: { icon: 'bolt', tone: 'bad', to: '/settings/processors' },
  endpoints_disabled: { icon: 'webhook', tone: 'bad', to: '/developers/webhooks', one: '/developers/webhooks/' },
  endpoints_failing: { icon: 'webhook', tone: 'warn', to: '/developers/webhooks', one: '/developers/webhooks/' },
  subscriptions_past_due: {
    icon: 'subscriptions',
    tone: 'warn',
    to: '/subscriptions',
    one: '/subscriptions/',
    search: { status: 'past_due' },
  },
  cards_expiring: {
    icon: 'card',
    tone: 'warn',
    to: '/subscriptions',
    one: '/subscriptions/',
    search: { status: 'active,past_due' },
  },
};

const everyMs = 60_000;

export function NeedsAttention() {
  const query = useGet<Attention>('/dashboard/attention', {}, { everyMs });
  if (query.error) return null;
  const entries = query.data?.data;
  return (
    <Panel title={home.attention}>
      {entries === undefined ? (
        <Skeleton />
      ) : entries.length === 0 ? (
        <p className="flex items-center gap-2.5 text-muted">
          <span className="inline-flex size-7 items-center justify-center rounded-full bg-good-soft text-good">
            <Icon name="check" size={16} />
          </span>
          {home.noAttention}
        </p>
      ) : (
        <ul className="-mx-2">
          {entries.map((entry) => (
            <Row key={entry.kind} entry={entry} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** Kinds whose time is that of the real clock. */
const real: readonly Entry['kind'][] = [
  'agents_asking',
  'chargebacks_unmatched',
  'payments_in_doubt',
  'processors_refusing',
  'processors_rejecting',
  'processors_wanting_codes',
  'notices_refused',
  'processors_unlinked',
];

/** Kinds whose time is the end of the time to answer. */
const withDeadline: readonly Entry['kind'][] = ['agents_asking', 'disputes_due', 'authorizations_ending'];

const tones = { bad: 'bg-bad-soft text-bad', warn: 'bg-warn-soft text-warn' } as const;

function Row({ entry }: { entry: Entry }) {
  const { icon, tone, to, one, search } = looks[entry.kind];
  const nowMs = useNowMs();
  const months = entry.kind === 'cards_expiring' && nowMs !== undefined && { card_expires: expiringMonths(nowMs) };
  const isOne = entry.object_id !== null && one !== undefined;
  const [singular, plural] = home.attentions[entry.kind];
  const number = `${entry.count.toLocaleString('en-US')}${entry.has_more ? '+' : ''}`;
  return (
    <li>
      <Link
        to={isOne ? `${one}${entry.object_id}` : to}
        {...(search && !isOne ? { search: { ...search, ...months } } : {})}
        className="flex items-center gap-3 rounded-[8px] px-2 py-2 hover:bg-sunken"
      >
        <span className={`inline-flex size-8 shrink-0 items-center justify-center rounded-full ${tones[tone]}`}>
          <Icon name={icon} size={16} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="block font-medium">
            {entry.count === 1 && !entry.has_more ? singular : plural.replace('#', number)}
          </span>
          {entry.since && (
            <span className="block text-sm text-muted">
              {withDeadline.includes(entry.kind) ? home.nextDeadline : home.since}{' '}
              <DateTime at={entry.since} real={real.includes(entry.kind)} />
            </span>
          )}
        </span>
        <span className="text-muted">
          <Icon name="right" size={16} />
        </span>
      </Link>
    </li>
  );
}
