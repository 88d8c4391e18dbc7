import { setTimeout as sleep } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { ApiError, invalidField } from '../../errors.ts';
import { timestamp } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { dayMs, hourMs, minuteMs } from '../../platform/durations.ts';
import { expireSessionsOf } from '../checkout-sessions/service.ts';
import { companyClock } from '../companies/service.ts';
import type { Orders } from '../orders/service.ts';
import { monthsLater, type Subscriptions } from '../subscriptions/service.ts';
import { disableFailingEndpoints } from '../webhooks/service.ts';
import {
  awaitTakenSubscriptions,
  countChargesUnderWay,
  findAwaitedEndpoints,
  findHappened,
  findNextDue,
  type HappenedRow,
  type NextDue,
  wakeDispatchers,
} from './queries.ts';
import type { OfCompany, RequestContext } from '../../request-context.ts';
import type { OpenShard } from '../../shards/shards.ts';

/**
 * The clock of a sandbox company: real time plus an offset that only grows. Advancing it stops at every due time on
 * the way and runs what is due; workers skip the company meanwhile.
 */

const part = () => Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 }));

export const clockAdvance = Type.Object(
  {
    to: Type.Optional(timestamp({ description: 'A time after the current time of the clock.' })),
    by: Type.Optional(
      Type.Object(
        { months: part(), days: part(), hours: part(), minutes: part(), seconds: part() },
        { additionalProperties: false, title: 'ClockStep' },
      ),
    ),
  },
  { additionalProperties: false, title: 'ClockAdvance', description: 'Send either `to` or `by`.' },
);
export type ClockAdvance = Static<typeof clockAdvance>;

const reading = {
  now: timestamp(),
  offset_seconds: Type.Integer({
    description: 'How many seconds the clock is ahead of real time, rounded up.',
  }),
};
export const clockReading = Type.Object(reading, {
  title: 'Clock',
  examples: [{ now: '2026-03-11T09:35:00.000Z', offset_seconds: 2419200 }],
});
export type ClockReading = Static<typeof clockReading>;

export const clockAdvanced = Type.Object(
  {
    ...reading,
    happened: Type.Array(
      Type.Object(
        {
          at: timestamp(),
          type: Type.String({
            description:
              'An event type, or `webhook.delivered`, `webhook.failed`, `card_token.expired`, `coupon.expired`.',
          }),
          object_id: Type.String(),
          summary: Type.String(),
        },
        { title: 'ClockHappening' },
      ),
      {
        description: `What happened, in order of time; at most ${limits.clockHappenings} entries. \`/v1/events\` lists all events.`,
      },
    ),
  },
  {
    title: 'ClockAdvanced',
    examples: [
      {
        now: '2026-03-11T09:35:00.000Z',
        offset_seconds: 2419200,
        happened: [
          {
            at: '2026-03-11T09:35:00.000Z',
            type: 'order.succeeded',
            object_id: '019c4c1f-5001-7d00-9e33-4f5061728394',
            summary: 'order 7KQ2M5XW, cycle 2, 1900 usd: succeeded',
          },
        ],
      },
    ],
  },
);
export type ClockAdvanced = Static<typeof clockAdvanced>;

export interface ClockDependencies {
  readonly shardFor: OfCompany<OpenShard>;
  readonly orders: OfCompany<Orders>;
  readonly subscriptions: OfCompany<Subscriptions>;
  /** Clears the cached company data of requests. */
  readonly forgetAccess: (companyId: string) => void;
}

interface Parts extends OpenShard {
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
}

/** The latest date that the clock can show; ids end a little later. */
const lastMs = Date.UTC(9999, 0, 1);

/** Longer than one step takes. After it the clock of a process that died can be advanced again. */
const leaseMs = 60_000;
/**
 * Everything that is due within this time is one step; each part still happens at its own time. If an endpoint
 * receives webhooks, deliveries run at the end of a step, so these steps are short.
 */
const stepMs = hourMs;
const stepWithReceiversMs = minuteMs;
const stepCount = 100;
const deliveryWaitMs = 2_000;
const chargeWaitMs = 2_000;
/** How long after a charge the sandbox raises its chargeback. */
const chargebackAfterMs = 1_000;
const pollMs = 10;

export async function readClock({ shardFor }: ClockDependencies, context: RequestContext): Promise<ClockReading> {
  const { db, company } = context;
  return shown(shardFor(context).clock.nowMs(), await companyClock.offsetMs(db, company.id));
}

function shown(realMs: number, offsetMs: number): ClockReading {
  return { now: new Date(realMs + offsetMs).toISOString(), offset_seconds: Math.ceil(offsetMs / 1_000) };
}

function targetOf({ to, by }: ClockAdvance, nowMs: number): number {
  if ((to === undefined) === (by === undefined))
    throw invalidField(to ? 'by' : 'to', to ? 'cannot be combined with to' : 'is required. Send either to or by');
  const { months = 0, days = 0, hours = 0, minutes = 0, seconds = 0 } = by ?? {};
  const targetMs = to
    ? Date.parse(to)
    : monthsLater(nowMs, Math.min(months, 12 * limits.clockAdvanceYears + 1)) +
      days * dayMs +
      hours * hourMs +
      minutes * minuteMs +
      seconds * 1_000;
  const field = to ? 'to' : 'by';
  if (targetMs <= nowMs)
    throw invalidField(field, 'must be after the current time of the clock, which never goes back');
  if (targetMs > Math.min(monthsLater(nowMs, 12 * limits.clockAdvanceYears), lastMs)) {
    throw invalidField(field, `must be at most ${limits.clockAdvanceYears} years ahead and not after the year 9998`);
  }
  return targetMs;
}

export async function advanceClock(
  { shardFor, orders, subscriptions, forgetAccess }: ClockDependencies,
  context: RequestContext,
  input: ClockAdvance,
): Promise<ClockAdvanced> {
  const { company } = context;
  const parts: Parts = { ...shardFor(context), orders: orders(context), subscriptions: subscriptions(context) };
  const { db, clock } = parts;
  const offsetMs = await companyClock.lease(db, company.id, leaseMs);
  if (offsetMs === undefined) {
    const message = 'The clock is being advanced, or sample data is being created. Retry when it has finished.';
    throw new ApiError('resource_in_use', message, { headers: { 'Retry-After': '1' } });
  }
  try {
    const fromMs = clock.nowMs() + offsetMs;
    const targetMs = targetOf(input, fromMs);
    await awaitCharges(parts, company.id, fromMs);
    await passTime(parts, company.id, fromMs, targetMs);
    // A chargeback that is about to be raised is raised with the advance, however short it is.
    await parts.orders.raiseChargebacksOf(company.id, fromMs, targetMs + chargebackAfterMs);
    const endMs = await setClock(parts, company.id, targetMs);
    const rows = await findHappened(db, company.id, fromMs, endMs, limits.clockHappenings);
    return { ...shown(clock.nowMs(), await companyClock.offsetMs(db, company.id)), happened: rows.map(happening) };
  } finally {
    await companyClock.release(db, company.id);
    forgetAccess(company.id);
  }
}

/** Returns the time that the clock then shows. It may be later, because the clock runs and never goes back. */
async function setClock({ db, clock }: Parts, companyId: string, toMs: number): Promise<number> {
  const realMs = clock.nowMs();
  return realMs + (await companyClock.move(db, companyId, toMs - realMs, leaseMs));
}

const timeOf = (date: Date | null): number => date?.getTime() ?? Number.POSITIVE_INFINITY;
const earliest = ({ subscription, bank, authorization, chargeback, dispute, checkout, delivery }: NextDue): number =>
  Math.min(...[subscription, bank, authorization, chargeback, dispute, checkout, delivery].map(timeOf));

/** Runs everything that is due until then, in order of time. */
async function passTime(parts: Parts, companyId: string, fromMs: number, targetMs: number): Promise<void> {
  const { db, clock } = parts;
  // An endpoint that did not answer in time once is not waited for again.
  const slow = new Set<string>();
  for (;;) {
    const next = await findNextDue(db, companyId, [...slow]);
    const atMs = earliest(next);
    if (atMs > targetMs) return;
    const untilMs = Math.min(targetMs, Math.max(atMs, fromMs) + (next.has_receivers ? stepWithReceiversMs : stepMs));
    // The clock is advanced first, so that no event is delivered before its time.
    await setClock(parts, companyId, untilMs);
    await bill(parts, companyId, fromMs, untilMs);
    if (next.has_receivers || next.delivery) await awaitDeliveries(parts, companyId, untilMs, slow);
    if (next.delivery) await disableFailingEndpoints(db, clock);
  }
}

/**
 * The same for a history that is written while the clock of the company stays where it is. Webhooks are delivered in real time, so
 * they do not hold it up. Returns when the next work is due.
 */
export async function passHistory(
  parts: Pick<Parts, 'db' | 'orders' | 'subscriptions'>,
  companyId: string,
  fromMs: number,
  targetMs: number,
): Promise<number> {
  for (;;) {
    const atMs = earliest({ ...(await findNextDue(parts.db, companyId, [])), delivery: null });
    if (atMs > targetMs) return atMs;
    await bill(parts, companyId, fromMs, Math.min(targetMs, Math.max(atMs, fromMs) + stepMs));
  }
}

/**
 * Workers skip the company from now on. Charges that they have started finish first, so that their outcomes are part
 * of the advance.
 */
async function awaitCharges({ db, clock }: Parts, companyId: string, fromMs: number): Promise<void> {
  const startedMs = clock.nowMs();
  await awaitTakenSubscriptions(db, companyId, new Date(fromMs));
  while ((await countChargesUnderWay(db, companyId)) > 0) {
    if (clock.nowMs() - startedMs > chargeWaitMs) return;
    await sleep(pollMs);
  }
}

async function bill(
  { db, orders, subscriptions }: Pick<Parts, 'db' | 'orders' | 'subscriptions'>,
  companyId: string,
  fromMs: number,
  untilMs: number,
): Promise<void> {
  for (;;) {
    const { found, inDoubt } = await subscriptions.billDueOf(companyId, fromMs, untilMs, stepCount);
    for (const orderId of inDoubt) await orders.reconcile(companyId, orderId);
    if (found < stepCount) break;
  }
  await orders.endAtBankOf(companyId, untilMs);
  await orders.releaseEndedOf(companyId, fromMs, untilMs);
  await orders.raiseChargebacksOf(companyId, fromMs, untilMs);
  await orders.loseDisputesOf(companyId, fromMs, untilMs);
  await expireSessionsOf(db, { id: companyId, mode: 'sandbox' }, new Date(untilMs));
}

async function awaitDeliveries(
  { db, clock }: Parts,
  companyId: string,
  untilMs: number,
  slow: Set<string>,
): Promise<void> {
  const startedMs = clock.nowMs();
  for (;;) {
    const awaited = await findAwaitedEndpoints(db, companyId, new Date(untilMs), [...slow]);
    if (awaited.length === 0) return;
    if (clock.nowMs() - startedMs > deliveryWaitMs) {
      for (const endpointId of awaited) slow.add(endpointId);
      return;
    }
    await wakeDispatchers(db);
    await sleep(pollMs);
  }
}

function happening(row: HappenedRow): ClockAdvanced['happened'][number] {
  const { at, type, object_id, detail, order_number, cycle, amount, currency } = row;
  const what = order_number ? `order ${order_number}` : type.split('.')[0];
  const named = [what, cycle && `cycle ${cycle}`, amount !== null && `${amount} ${currency}`]
    .filter(Boolean)
    .join(', ');
  return { at: at.toISOString(), type, object_id, summary: detail ? `${named}: ${detail}` : named };
}
