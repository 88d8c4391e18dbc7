import { dayMs } from '../../platform/durations.ts';
import { firstIdOf } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { getSubscription, upcomingBillsOf } from '../subscriptions/service.ts';
import { eachAlone } from './each-alone.ts';
import { type Maker, mail } from './mail.ts';
import { type Cursor, findExpiringCards, findRenewals, markCardsChecked } from './queries.ts';

const pageSize = 200;
/** Emails are deleted after 30 days, and with them the knowledge that there was one. */
const lastDayOfMonth = 25;

export async function remindCompany(maker: Maker, cursor: Cursor, log: Logger): Promise<void> {
  const { emails } = maker.profile;
  if (emails.upcoming_renewal) await remindOfRenewals(maker, log);
  if (emails.card_expiring) await remindOfCards(maker, cursor, log);
}

/** All rows, page by page: rows that get no email must not keep later ones from theirs. */
async function* pages<Row extends { readonly id: string }>(
  find: (afterId: string) => Promise<Row[]>,
): AsyncIterable<Row> {
  for (let afterId = firstIdOf(0); ; ) {
    const rows = await find(afterId);
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < pageSize || !last) return;
    afterId = last.id;
  }
}

async function remindOfRenewals(maker: Maker, log: Logger): Promise<void> {
  const { context, profile } = maker;
  const { db, company, nowMs } = context;
  const span = { from: new Date(nowMs), until: new Date(nowMs + profile.emails.upcoming_renewal_days * dayMs) };
  const renewals = pages((afterId) => findRenewals(db, company.id, span, afterId, pageSize));
  await eachAlone(log, company, renewals, async ({ id, due_at }) => {
    const [next] = (await upcomingBillsOf(context, id, 1)).data;
    if (!next || next.total === 0) return;
    const subscription = await getSubscription(context, id, new Set());
    const draft = {
      occasion: `upcoming ${id} ${due_at.toISOString().slice(0, 10)}`,
      kind: 'upcoming_renewal',
      customerId: subscription.customer_id,
      objectId: id,
      about: { subscription },
    } as const;
    await mail(maker, draft, {
      kind: 'upcoming_renewal',
      name: subscription.plan.name,
      amount: next.total,
      currency: next.currency,
      card: subscription.payment_method,
      at: next.date,
    });
  });
}

/** Once a day, by the clock of the company. */
async function remindOfCards(maker: Maker, { cards_checked_on }: Cursor, log: Logger): Promise<void> {
  const { context } = maker;
  const { db, company, nowMs } = context;
  const now = new Date(nowMs);
  const today = now.toISOString().slice(0, 10);
  if (cards_checked_on === today || now.getUTCDate() > lastDayOfMonth) return;
  const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  const [year, month] = [nextMonth.getUTCFullYear(), nextMonth.getUTCMonth() + 1];
  const cards = pages((afterId) => findExpiringCards(db, company.id, { year, month }, afterId, pageSize));
  const { failed } = await eachAlone(log, company, cards, async (card) => {
    const subscription = await getSubscription(context, card.subscription_id, new Set());
    const draft = {
      occasion: `expires ${card.id} ${year}-${month}`,
      kind: 'card_expiring',
      customerId: card.customer_id,
      objectId: card.subscription_id,
      about: { subscription },
    } as const;
    await mail(maker, draft, { kind: 'card_expiring', card, year, month });
  });
  if (failed === 0) await markCardsChecked(db, company.id, today);
}
