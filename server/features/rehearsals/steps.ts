import { dayMs, secondMs } from '../../platform/durations.ts';
import { amountText } from '../../customer-texts/formats.ts';
import { storyAmounts } from '../../vault/processors/story.ts';
import type { Trial } from '../../vault/processors/test-cards.ts';
import { createPlan, getPlans } from '../plans/service.ts';
import type { Order } from '../orders/schemas.ts';
import { testToWire } from '../processors/service.ts';
import { backdateSubscription, cancelSubscription, getSubscription } from '../subscriptions/service.ts';
import {
  adviceOnDecline,
  adviceOnDispute,
  adviceOnNotices,
  adviceOnPayment,
  adviceOnReference,
  adviceOnRefund,
} from './advice.ts';
import { findConnectionsOf, findNotices } from './queries.ts';
import type { StepName } from './schemas.ts';
import { customerOf, orderNamed, pay, payAgain, refund, type Stage, storeTrial, subscribe } from './stage.ts';

/** The story that a rehearsal tells: each step sends what customers, renewals and the dashboard send. */

/** A step that waits is asked again until its time is over. Then it is wrong. */
export interface Found {
  readonly result: 'right' | 'wrong' | 'skipped' | 'waiting';
  readonly sent: string;
  readonly expected: string;
  readonly answered: string;
  readonly advice?: string;
}

const nothing = { sent: '', expected: '', answered: '' } as const;
const skipped = (answered: string): Found => ({ ...nothing, result: 'skipped', answered });

const cardText = ({ number }: Trial): string => `card •••• ${number.slice(-4)}`;
const moneyText = ({ row }: Stage, amount: number): string => amountText(amount, row.currency);
const paid: readonly string[] = ['succeeded', 'partially_refunded', 'refunded', 'chargeback'];

function answerText(order: Order | undefined): string {
  if (!order) return 'no payment was recorded';
  const { status, failure_code, failure_reason, transactions } = order;
  if (status === 'failed') return `failed: ${failure_code} (${failure_reason})`;
  const id = transactions.findLast(({ type }) => type === 'sale')?.processor_transaction_id;
  return id ? `${status}, ${id}` : status;
}

/** A payment that is to succeed, at this connection. */
async function judged(stage: Stage, order: Order | undefined, sent: string): Promise<Found> {
  const found = { sent, expected: 'succeeded', answered: answerText(order) };
  if (order?.status === 'pending') return { ...found, result: 'waiting', advice: adviceOnPayment(stage, order) };
  if (!order || !paid.includes(order.status))
    return { ...found, result: 'wrong', advice: adviceOnPayment(stage, order) };
  const places = await findConnectionsOf(stage.context.db, stage.company.id, order.id);
  if (places.includes(stage.connection.id)) return { ...found, result: 'right' };
  const advice = 'Another connection took the payment. Rehearse it by itself, or disconnect the others.';
  return { ...found, result: 'wrong', advice };
}

type Step = (stage: Stage) => Promise<Found>;

const account: Step = async ({ vault, company, connection, kind }) => {
  const tested = await vault.test({ companyId: company.id, connectionId: connection.id });
  const { works, account: name, problem, advice } = testToWire(tested, { ...company, kind: kind.kind });
  const found = { sent: 'a call that changes nothing', expected: 'a test account', answered: name ?? problem ?? '' };
  if (works) return { ...found, result: 'right', ...(advice !== null && { advice }) };
  return { ...found, result: 'wrong', answered: problem ?? '', advice: 'Replace the credentials of the connection.' };
};

/** Without verification at the processor, a card is stored unseen. */
const capture: Step = async (stage) => {
  const { approved } = stage.environment;
  const { vaulted } = await storeTrial(stage, approved, { payment_follows: false });
  const { verification } = vaulted;
  const found = { sent: `${cardText(approved)} with its security code`, expected: 'stored, not declined' };
  if (!verification) return { ...found, result: 'right', answered: 'stored without an answer of the processor' };
  const { outcome, avs_result, cvv_result } = verification;
  const answered = `${outcome}, address ${avs_result ?? '–'}, security code ${cvv_result ?? '–'}`;
  if (outcome === 'verified') return { ...found, result: 'right', answered };
  return { ...found, result: 'wrong', answered, advice: adviceOnDecline(stage) };
};

const firstCharge: Step = async (stage) => {
  const { approved } = stage.environment;
  stage.made.card ??= (await storeTrial(stage, approved, { payment_follows: true })).id;
  const order = await pay(stage, 'first', { amount: storyAmounts.charge, cardId: stage.made.card });
  const sent = `${moneyText(stage, storyAmounts.charge)}, ${cardText(approved)} with its security code, first payment of the customer`;
  return judged(stage, order, sent);
};

const needsCard = skipped('needs the card of the first payment');

const equalAmount: Step = async (stage) => {
  const { card } = stage.made;
  if (card === undefined) return needsCard;
  const order = await pay(stage, 'equal', { amount: storyAmounts.charge, cardId: card });
  const sent = `${moneyText(stage, storyAmounts.charge)} again, the stored card without a security code, by the customer`;
  return judged(stage, order, sent);
};

function declinedAs(stage: Stage, order: Order | undefined, sent: string): Found {
  const codes: readonly string[] = stage.environment.declined.failureCodes;
  const found = { sent, expected: `failed: ${codes.join(' or ')}`, answered: answerText(order) };
  if (order?.status === 'pending') return { ...found, result: 'waiting', advice: adviceOnPayment(stage, order) };
  if (codes.includes(order?.failure_code ?? '')) return { ...found, result: 'right' };
  return { ...found, result: 'wrong', advice: adviceOnDecline(stage) };
}

const decline: Step = async (stage) => {
  const { declined } = stage.environment;
  const amount = declined.amount ?? storyAmounts.charge;
  stage.made.declined ??= (await storeTrial(stage, declined, { payment_follows: true })).id;
  const order = await pay(stage, 'declined', { amount, cardId: stage.made.declined });
  const named = declined.holderName === undefined ? '' : ` in the name of ${declined.holderName}`;
  return declinedAs(
    stage,
    order,
    `${moneyText(stage, amount)}, ${cardText(declined)}${named}, which is declined in test mode`,
  );
};

const retry: Step = async (stage) => {
  const order = await orderNamed(stage, 'declined');
  if (order?.status !== 'failed') return skipped('needs a declined payment');
  return declinedAs(
    stage,
    await payAgain(stage, 'retry', order),
    'the declined payment once more, with the stored card',
  );
};

const refunding =
  (name: string, of: string, amount: number | undefined, wanted: string): Step =>
  async (stage) => {
    const order = await orderNamed(stage, of);
    if (!order || !paid.includes(order.status)) return skipped('needs a payment that succeeded');
    const refunded = await refund(stage, name, order, amount);
    const sent = `refund of ${amount === undefined ? 'the whole payment' : moneyText(stage, amount)}`;
    const found = { sent, expected: wanted, answered: refunded.status };
    if (refunded.status === wanted) return { ...found, result: 'right' };
    const isOpen = ['pending', ...paid].includes(refunded.status);
    return { ...found, result: isOpen ? 'waiting' : 'wrong', advice: adviceOnRefund(stage) };
  };

const planCodeOf = ({ row }: Stage): string => `rehearsal-${row.currency}`;
const newestFirst = { limit: 100, sort: { field: 'created_at', descending: true }, cursor: null } as const;

async function planOf(stage: Stage): Promise<string> {
  const { context, row } = stage;
  const plan_code = planCodeOf(stage);
  const known = (await getPlans(context, { search: plan_code }, newestFirst)).items;
  const found = known.find((plan) => plan.plan_code === plan_code);
  if (found) return found.id;
  const billing_cycle = { interval: 'day', interval_count: 1, anchor_day: 'signup_date' } as const;
  const plan = { name: 'Rehearsal', plan_code, amount: storyAmounts.charge, currency: row.currency, billing_cycle };
  return (await createPlan(context, plan)).id;
}

/** So shortly before its date that the worker does not bill it first, at another connection. */
const earlyMs = 20 * secondMs;

/** A day passes for this subscription only. Then its second cycle is billed. */
const renewal: Step = async (stage) => {
  const { made, context, company, subscriptions, orders } = stage;
  if (made.card === undefined) return needsCard;
  const sent = `${moneyText(stage, storyAmounts.charge)}, the stored card without the customer, as the second cycle of a subscription`;
  const first = await subscribe(stage, 'subscription', { plan_id: await planOf(stage), payment_method_id: made.card });
  const id = first?.subscription_id;
  if (!first || !id || !paid.includes(first.status)) {
    return judged(stage, first, `${moneyText(stage, storyAmounts.charge)}, first payment of a subscription`);
  }
  let subscription = await getSubscription(context, id, new Set());
  if (subscription.current_cycle < 2 && made.backdated === undefined) {
    await backdateSubscription(context, id, dayMs - earlyMs);
    made.backdated = id;
  }
  if (subscription.current_cycle < 2) {
    await subscriptions.billDueOf(company.id, context.nowMs, context.nowMs + 3 * earlyMs, 100);
    subscription = await getSubscription(context, id, new Set());
  }
  const latest = subscription.latest_order_id;
  if (subscription.current_cycle < 2 || !latest || latest === first.id) {
    return {
      sent,
      expected: 'succeeded',
      answered: 'not billed yet',
      result: 'waiting',
      advice: adviceOnPayment(stage, undefined),
    };
  }
  const found = await judged(stage, await orders.get(context, latest, new Set()), sent);
  if (found.result !== 'waiting' && ['active', 'past_due'].includes(subscription.status))
    await cancelSubscription(context, id);
  return found;
};

const networkReference: Step = async (stage) => {
  const { kind, connection } = stage;
  if (!kind.hidesNetworkReferences) return skipped(`${kind.name} needs no setting for it`);
  const order = await orderNamed(stage, 'first');
  if (!order || !paid.includes(order.status)) return skipped('needs a payment that succeeded');
  const found = { sent: 'the payments above', expected: 'answers with the reference of the card network' };
  if (!connection.unlinked_at) return { ...found, result: 'right', answered: 'they have it' };
  return { ...found, result: 'wrong', answered: 'without it', advice: adviceOnReference(stage) };
};

const notices: Step = async (stage) => {
  const { kind, row, context } = stage;
  if (!kind.sendsNotices) return skipped(`${kind.name} sends no notices; the worker asks for changes`);
  const { about, other } = await findNotices(context.db, row, await customerOf(stage));
  const found = { sent: 'the payments above', expected: 'a signed notice about one of them' };
  if (about !== null) return { ...found, result: 'right', answered: about };
  const answered = other === null ? 'no notice' : `only a notice about something else: ${other}`;
  return { ...found, result: 'waiting', answered, advice: adviceOnNotices(stage) };
};

const dispute: Step = async (stage) => {
  const { kind, environment, made } = stage;
  const { disputed } = environment;
  if (!disputed) return skipped(`the test mode of ${kind.name} makes no dispute by itself`);
  made.disputed ??= (await storeTrial(stage, disputed, { payment_follows: true })).id;
  const order = await pay(stage, 'disputed', { amount: storyAmounts.charge, cardId: made.disputed });
  const sent = `${moneyText(stage, storyAmounts.charge)}, ${cardText(disputed)}, which is disputed in test mode`;
  if (order?.status === 'chargeback') return { sent, expected: 'chargeback', answered: order.status, result: 'right' };
  const payment = await judged(stage, order, sent);
  if (payment.result !== 'right') return payment;
  return { ...payment, expected: 'chargeback', result: 'waiting', advice: adviceOnDispute(stage) };
};

export const steps: Readonly<Record<StepName, Step>> = {
  account,
  capture,
  first_charge: firstCharge,
  equal_amount: equalAmount,
  decline,
  retry,
  partial_refund: refunding('refund-part', 'first', storyAmounts.refund, 'partially_refunded'),
  full_refund: refunding('refund-whole', 'equal', undefined, 'refunded'),
  renewal,
  network_reference: networkReference,
  notices,
  dispute,
};
