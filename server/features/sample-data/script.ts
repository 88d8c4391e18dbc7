import { planNames, products } from './catalog.ts';
import { decliningCards, failsLaterCard, goodCards } from './people.ts';

/**
 * What happens in the sample history, computed from a fixed seed: the same for everyone. Times are minutes after its beginning.
 */

export const historyDays = 90;
const dayMinutes = 24 * 60;
const endMinutes = historyDays * dayMinutes;

export type Doing =
  | { readonly does: 'setUp' }
  | { readonly does: 'product'; readonly sku: string }
  | { readonly does: 'addMembers' }
  | { readonly does: 'addEndpoint' }
  | { readonly does: 'addCustomer'; readonly person: number; readonly card: string; readonly expires?: 'next month' }
  | { readonly does: 'addCard'; readonly person: number; readonly card: string }
  | {
      readonly does: 'order';
      readonly key: string;
      readonly person: number;
      readonly items: readonly Item[];
      readonly coupon?: string;
    }
  | { readonly does: 'refund'; readonly order: string; readonly share: number }
  | {
      readonly does: 'subscribe';
      readonly key: string;
      readonly person: number;
      readonly plan: string;
      readonly coupon?: string;
    }
  | { readonly does: 'cancel' | 'pause'; readonly subscription: string }
  | { readonly does: 'dispute' | 'win'; readonly order: string }
  | { readonly does: 'writeEmails' };

interface Item {
  readonly sku: string;
  readonly quantity: number;
}

export type Action = Doing & { readonly atMinute: number };

/** The generator mulberry32: small, and the same on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const seed = 20_261_118;
const people = 72;
/** These people try to pay with cards that are declined. */
const firstDeclined = people - decliningCards.length;
/** These have a story of their own at the end of the history. */
const special = { pastDue: 60, failed: 61, expiring: 62, disputing: 63 } as const;
const firstSpecial = special.pastDue;
/** How many of the others subscribe. */
const subscribers = 28;

const weights: Readonly<Record<string, number>> = {
  'tea-pot': 4,
  'tea-cup': 6,
  class: 2,
  oolong: 8,
  matcha: 5,
  'gift-box': 2,
};

type Random = () => number;
const chance = (random: Random, share: number): boolean => random() < share;
const below = (random: Random, count: number): number => Math.floor(random() * count);

function pickSku(random: Random): string {
  const total = products.reduce((sum, { sku }) => sum + (weights[sku] ?? 1), 0);
  let rest = random() * total;
  return products.find(({ sku }) => (rest -= weights[sku] ?? 1) < 0)?.sku ?? 'tea-cup';
}

function pickItems(random: Random): Item[] {
  const skus = new Set([pickSku(random), ...(chance(random, 0.35) ? [pickSku(random)] : [])]);
  return [...skus].map((sku) => ({ sku, quantity: sku === 'tea-cup' ? 1 + below(random, 4) : 1 }));
}

/** The shop grows: later days have more orders. People buy most in the evening. */
const ordersOn = (random: Random, day: number): number => Math.round(1.2 + (day / historyDays) * 3.4 + random() * 1.8);
const minuteOf = (random: Random): number => Math.floor(((random() + random() + random()) / 3) * dayMinutes);

/** The first customers come on the second day, so that the last 90 days of the calendar have all orders. */
const joinDay = (number: number): number => 1 + Math.floor((number / firstSpecial) ** 1.2 * (historyDays - 5));
const lastDay = historyDays - 1;

/** A minute of a day; on the last day, one that has passed. */
const moment = (random: Random, day: number): number => Math.min(day * dayMinutes + minuteOf(random), endMinutes - 20);

function customers(random: Random): Action[] {
  return Array.from({ length: firstSpecial }, (_, number) => ({
    atMinute: joinDay(number) * dayMinutes + 5 + below(random, 20),
    does: 'addCustomer',
    person: number,
    card: goodCards[below(random, 100) < 45 ? 0 : number % goodCards.length] ?? goodCards[0],
  }));
}

function purchases(random: Random): Action[] {
  const made: Action[] = [];
  const order = (atMinute: number, buyer: number): void => {
    const coupon = chance(random, 0.1) ? 'TEA10' : chance(random, 0.04) ? 'WELCOME5' : undefined;
    const items = coupon === 'WELCOME5' ? [{ sku: 'matcha', quantity: 1 }] : pickItems(random);
    const key = `order-${made.length}`;
    made.push({ atMinute, does: 'order', key, person: buyer, items, ...(coupon && { coupon }) });
  };
  for (let day = 0; day <= lastDay; day += 1) {
    const joined = Array.from({ length: firstSpecial }, (_, number) => number).filter(
      (number) => joinDay(number) < day,
    );
    const joining = Array.from({ length: firstSpecial }, (_, number) => number).filter(
      (number) => joinDay(number) === day,
    );
    for (const number of joining) order(day * dayMinutes + 30 + below(random, 60), number);
    const more = joined.length > 0 ? ordersOn(random, day) - joining.length : 0;
    for (let n = 0; n < more; n += 1) order(moment(random, day), joined[below(random, joined.length)] ?? 0);
  }
  return made;
}

/** Some orders are returned a few days later, in part or as a whole. */
function returns(random: Random, orders: readonly Action[]): Action[] {
  return orders.flatMap((order, index): Action[] => {
    if (order.does !== 'order' || index % 23 !== 11) return [];
    const atMinute = order.atMinute + (1 + below(random, 5)) * dayMinutes;
    if (atMinute > endMinutes - dayMinutes) return [];
    return [{ atMinute, does: 'refund', order: order.key, share: chance(random, 0.5) ? 1 : 0.5 }];
  });
}

/** People with a card that is declined: most try again, and half of them come back with another card. */
function declines(random: Random): Action[] {
  return decliningCards.flatMap((card, index): Action[] => {
    const buyer = firstDeclined + index;
    const day = 8 + index * 14;
    const items = pickItems(random);
    const first = moment(random, day);
    const attempt = (minutes: number, name: string): Action => ({
      atMinute: first + minutes,
      does: 'order',
      key: `declined-${index}-${name}`,
      person: buyer,
      items,
    });
    return [
      { atMinute: first - 3, does: 'addCustomer', person: buyer, card },
      attempt(0, 'first'),
      ...(index % 3 === 2 ? [] : [attempt(4, 'second')]),
      ...(index % 2 === 0
        ? ([{ atMinute: first + 9, does: 'addCard', person: buyer, card: goodCards[0] }, attempt(10, 'paid')] as const)
        : []),
    ];
  });
}

function subscriptions(random: Random): Action[] {
  const names = [planNames.monthly, planNames.monthly, planNames.weekly, planNames.monthly, planNames.quarterly];
  return Array.from({ length: subscribers }, (_, index) => index * 2).flatMap((subscriber, index): Action[] => {
    const plan = names[index % names.length] ?? planNames.monthly;
    const day = Math.min(joinDay(subscriber) + 1 + below(random, 4), lastDay - 1);
    const atMinute = moment(random, day);
    const key = `subscription-${index}`;
    const coupon = plan === planNames.monthly && index % 4 === 1 ? { coupon: 'THREEMONTHS' } : {};
    const ends = atMinute + (25 + below(random, 20)) * dayMinutes;
    const ending: Action[] =
      index % 9 === 5 && ends < endMinutes
        ? [{ atMinute: ends, does: index === 5 ? 'pause' : 'cancel', subscription: key }]
        : [];
    return [{ atMinute, does: 'subscribe', key, person: subscriber, plan, ...coupon }, ...ending];
  });
}

/** A subscription in dunning, one that ended with it, a card that expires soon, and disputes: open, won and lost. */
function stories(): Action[] {
  const ago = (days: number): number => endMinutes - Math.round(days * dayMinutes);
  const { pastDue, failed, expiring, disputing } = special;
  const buy = (key: string, days: number, sku: string): Action => ({
    atMinute: ago(days),
    does: 'order',
    key,
    person: disputing,
    items: [{ sku, quantity: 1 }],
  });
  return [
    { atMinute: ago(34), does: 'addCustomer', person: pastDue, card: failsLaterCard },
    { atMinute: ago(33), does: 'subscribe', key: 'past-due', person: pastDue, plan: planNames.monthly },
    { atMinute: ago(76), does: 'addCustomer', person: failed, card: failsLaterCard },
    { atMinute: ago(75), does: 'subscribe', key: 'failed', person: failed, plan: planNames.monthly },
    { atMinute: ago(50), does: 'addCustomer', person: expiring, card: goodCards[0], expires: 'next month' },
    { atMinute: ago(49), does: 'subscribe', key: 'expiring', person: expiring, plan: planNames.monthly },
    { atMinute: ago(71), does: 'addCustomer', person: disputing, card: goodCards[1] },
    buy('won', 70, 'gift-box'),
    { atMinute: ago(62), does: 'dispute', order: 'won' },
    { atMinute: ago(57), does: 'win', order: 'won' },
    buy('lost', 44, 'matcha'),
    { atMinute: ago(38), does: 'dispute', order: 'lost' },
    buy('open', 12, 'gift-box'),
    { atMinute: ago(2.6), does: 'dispute', order: 'open' },
    { atMinute: ago(3), does: 'addEndpoint' },
    { atMinute: endMinutes, does: 'writeEmails' },
  ];
}

/** All actions, in the order of their times. */
export function sampleScript(): readonly Action[] {
  const random = generator(seed);
  const orders = purchases(random);
  const actions: Action[] = [
    { atMinute: 0, does: 'setUp' },
    ...products.map(({ sku }, index): Action => ({ atMinute: 1 + index, does: 'product', sku })),
    { atMinute: 2 * dayMinutes, does: 'addMembers' },
    ...customers(random),
    ...orders,
    ...returns(random, orders),
    ...declines(random),
    ...subscriptions(random),
    ...stories(),
  ];
  return actions.toSorted((one, other) => one.atMinute - other.atMinute);
}
