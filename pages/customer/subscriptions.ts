import { formatLocale } from '../../server/customer-texts/messages.ts';
import { byId, drawing, element, filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { inPageLocale, pageLocale } from '../shared/page-texts.ts';
import { periodText } from '../shared/periods.ts';
import { cardName } from '../shared/saved-cards.ts';
import type { Account, AccountSubscription } from './account.ts';
import { texts } from './texts.ts';

/** The subscriptions of the customer, each with what can be done with it. */

export type SubscriptionAction =
  | ('pay' | 'abandon' | 'plan' | 'undo_plan' | 'end_renewal' | 'keep_renewal' | 'cancel')
  | ('pause' | 'continue' | 'again');

export type OnAction = (action: SubscriptionAction, subscription: AccountSubscription) => void;

/** Billing is in UTC, so dates are too. */
export const dateText = (moment: string): string =>
  new Intl.DateTimeFormat(formatLocale(pageLocale()), { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(moment));

/** Whether the merchant lets customers use another card. */
let allowsCards = false;

export function showSubscriptions(
  { subscriptions, allow_update_card }: Pick<Account, 'subscriptions' | 'allow_update_card'>,
  onAction: OnAction,
): void {
  allowsCards = allow_update_card;
  byId('no-subscriptions').hidden = subscriptions.length > 0;
  byId('subscriptions').replaceChildren(...subscriptions.map((subscription) => panelOf(subscription, onAction)));
}

function panelOf(subscription: AccountSubscription, onAction: OnAction): HTMLElement {
  const { name, amount, currency, next_payment: next, ends_at, status, card, quantity, pause } = subscription;
  const price = filled(texts.price, {
    amount: money(amount, currency),
    period: periodText(subscription, texts.period),
  });
  const isRunning = next !== null || ends_at !== null;
  const lines = [
    quantity > 1 && filled(texts.seatsOf, { count: quantity }),
    scheduledText(subscription),
    subscription.changing && texts.planChanging,
    next && filled(texts.nextPayment, { amount: money(next.total, currency), date: dateText(next.date) }),
    pause && filled(texts.pausedUntil, { date: dateText(pause.until), amount: money(pause.total, currency) }),
    ends_at && filled(texts.endsAt, { date: dateText(ends_at) }),
    next && filled(texts.paidWith, { card: cardName(card) }),
  ];
  const panel = element(
    'li',
    { class: 'panel', 'data-subscription': subscription.id },
    element('div', { class: 'row' }, element('h3', {}, name), badgeOf(status, ends_at !== null)),
    element('p', { class: isRunning ? 'price' : 'price muted' }, price),
    ...lines.map((line) => (line ? element('p', { class: 'muted' }, line) : undefined)),
  );
  if (subscription.overdue) panel.append(overdueOf(subscription, onAction));
  const actions = actionsOf(subscription, onAction);
  if (actions.length > 0) panel.append(element('div', { class: 'actions' }, ...actions));
  return panel;
}

const statusTexts: Readonly<Partial<Record<string, string>>> = texts.status;

function scheduledText({ scheduled, next_payment: next }: AccountSubscription): string | undefined {
  if (!scheduled) return undefined;
  const { name, quantity } = scheduled;
  const plan =
    quantity > 1 ? filled(texts.planOfSeats, { name, seats: filled(texts.seatsOf, { count: quantity }) }) : name;
  return filled(texts.planScheduled, { plan, date: next ? dateText(next.date) : '' });
}

function badgeOf(status: string, isEnding: boolean): HTMLElement {
  const kind = isEnding ? 'ending' : status;
  return element('span', { class: `status ${kind}` }, isEnding ? texts.ending : (statusTexts[status] ?? status));
}

function overdueOf(subscription: AccountSubscription, onAction: OnAction): HTMLElement {
  const { overdue, currency } = subscription;
  const amount = money(overdue?.total ?? 0, currency);
  const isInProgress = overdue?.in_progress === true;
  const bank = bankLink(overdue?.bank_url);
  const confirmUrl = overdue?.confirm_url;
  const inProgress = bank ? texts.overdueAtBank : texts.overdueInProgress;
  const declined = confirmUrl ? texts.overdueConfirm : texts.overdue;
  const text = filled(isInProgress ? inProgress : declined, { amount });
  const notice = element('div', { class: 'overdue' }, drawing('sign', 'icon'), element('p', {}, text));
  const way = bank ?? (confirmUrl && confirmationLink(confirmUrl, subscription.name));
  if (isInProgress && !bank) return notice;
  if (way) {
    const canOtherwise = isInProgress || allowsCards;
    const otherwise = canOtherwise && buttonOf('abandon', texts.payOtherwise, 'secondary', subscription, onAction);
    const ways = otherwise ? [way, otherwise] : [way];
    return element('div', { class: 'due' }, notice, element('div', { class: 'actions' }, ...ways));
  }
  const button = buttonOf('pay', filled(texts.payNow, { amount }), 'pay', subscription, onAction);
  return element('div', { class: 'due' }, notice, button);
}

/** Only a web link, so that a value from elsewhere cannot become a script. */
function bankLink(url: string | null | undefined): HTMLElement | undefined {
  if (!url || !/^https?:\/\//i.test(url)) return undefined;
  return element('a', { class: 'pay', href: url, 'data-action': 'bank' }, texts.toBank);
}

function confirmationLink(url: string, name: string): HTMLElement {
  const attributes = { class: 'pay', href: inPageLocale(url), 'aria-label': `${texts.confirm}: ${name}` };
  return element('a', attributes, texts.confirm);
}

function actionsOf(subscription: AccountSubscription, onAction: OnAction): HTMLElement[] {
  const { can_keep_renewal, can_end_renewal, can_cancel, can_continue, offer, scheduled } = subscription;
  const actions: readonly (readonly [SubscriptionAction, string, boolean])[] = [
    ['plan', texts.planButton, offer !== null],
    ['undo_plan', texts.planUndo, scheduled?.can_undo === true],
    ['continue', texts.continueNow, can_continue],
    ['again', texts.again, subscription.again !== null],
    ['pause', texts.pause, subscription.pause_dates !== null],
    ['keep_renewal', texts.keepRenewal, can_keep_renewal],
    ['end_renewal', texts.endRenewal, can_end_renewal],
    ['cancel', texts.cancel, can_cancel],
  ];
  return actions
    .filter(([, , isAllowed]) => isAllowed)
    .map(([action, text]) =>
      buttonOf(action, text, action === 'cancel' ? 'quiet' : 'secondary', subscription, onAction),
    );
}

function buttonOf(
  action: SubscriptionAction,
  text: string,
  look: string,
  subscription: AccountSubscription,
  onAction: OnAction,
): HTMLButtonElement {
  const button = element('button', { type: 'button', class: look, 'data-action': action }, text);
  // Several subscriptions have buttons with the same words.
  button.setAttribute('aria-label', `${text}: ${subscription.name}`);
  button.addEventListener('click', () => onAction(action, subscription));
  return button;
}
