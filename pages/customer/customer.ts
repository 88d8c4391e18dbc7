import { browserReport, takeReturn } from '../shared/at-bank.ts';
import { type CardPicker, createCardPicker } from '../shared/card-picker.ts';
import { byId, element, filled, setSupport, setText } from '../shared/dom.ts';
import { showHeader } from '../shared/header.ts';
import { createInput } from '../shared/inputs.ts';
import { money } from '../shared/money.ts';
import { enterOutcome } from '../shared/outcome.ts';
import { inPageLocale, pageLocale } from '../shared/page-texts.ts';
import { type Answer, pauseMs, request, untilAnswered } from '../shared/requests.ts';
import { brandMark, cardName, expiryText } from '../shared/saved-cards.ts';
import type { Account, AccountMerchant, AccountSubscription, Payments, PlanPreview } from './account.ts';
import { askToContinue, askToSubscribe, choosePause, isConfirmed } from './life.ts';
import { choosePlan } from './plan-change.ts';
import { problemText, say, setSaving } from './saying.ts';
import { showPayments } from './payments.ts';
import { dateText, showSubscriptions, type SubscriptionAction } from './subscriptions.ts';
import { texts } from './texts.ts';

/** The customer page: subscriptions, payments and cards of one customer; or, without a link, the way to get one. */

const token = location.pathname.split('/').filter(Boolean).at(-1) ?? '';
/** The token of a link begins with its company. */
const companyLength = 22;
const isOfCompany = token.length === companyLength;
const pollMs = 2_000;
const actionTimeoutMs = 60_000;

let account: Account;
let picker: CardPicker | undefined;
let isBusy = false;
let nextPayments: string | null = null;

async function load(): Promise<void> {
  const answer = await untilAnswered(() => request<Account>(`${token}/account`), showAway, true);
  if (answer.kind === 'done') return show(answer.body);
  await showEnded();
}

interface CompanyOfPage {
  readonly merchant: AccountMerchant;
  readonly livemode: boolean;
  readonly rehearsal: boolean;
}

/** The link does not work any more, or never did. Only in the first case the page shows whose it was. */
async function showEnded(): Promise<void> {
  const answer = await untilAnswered(() => request<CompanyOfPage>(`${token}/ended`), showAway, true);
  const isKnown = answer.kind === 'done';
  if (isKnown) showMerchant(answer.body);
  byId('account').hidden = true;
  enterOutcome(isKnown ? 'ended' : 'unknown', {
    symbol: 'clock',
    title: isKnown ? texts.endedTitle : texts.unknownTitle,
    text: isKnown ? texts.ended : texts.unknown,
    isAlone: true,
    link: isKnown
      ? { url: new URL(inPageLocale(token.slice(0, companyLength)), location.href).href, text: texts.newLink }
      : undefined,
    ...(isKnown && { support: { text: texts.support, merchant: answer.body.merchant } }),
  });
}

function showMerchant({ merchant, livemode, rehearsal }: CompanyOfPage): void {
  const title = filled(texts.pageTitle, { merchant: merchant.name });
  showHeader(merchant, { livemode, mode: rehearsal && texts.rehearsal, title, back: { url: null, label: '' } });
}

function showAway(): void {
  enterOutcome('away', { symbol: 'cloud', title: texts.awayTitle, text: texts.away, canRetry: true, isAlone: true });
}

function show(next: Account): void {
  account = next;
  const { merchant, customer, livemode, rehearsal } = next;
  const words = { merchant: merchant.name };
  showHeader(merchant, {
    livemode,
    mode: rehearsal && texts.rehearsal,
    title: filled(texts.pageTitle, words),
    back: { url: next.return_url, label: filled(texts.back, words) },
  });
  byId('outcome').hidden = true;
  byId('account').hidden = false;
  byId('layout').dataset.state = 'open';
  byId('headline').textContent = next.headline ?? filled(texts.headline, words);
  const name = `${customer.first_name} ${customer.last_name}`;
  byId('signed-in').textContent = filled(texts.signedIn, { name, email: customer.email });
  showSubscriptions(next, (action, subscription) => void act(action, subscription));
  showCard();
  showPayments(token, next.payments, false);
  nextPayments = next.payments.next;
  showFooter(merchant);
  const { subscriptions, card_at_bank } = next;
  const isWaiting = subscriptions.some(({ overdue, changing }) => changing || overdue?.in_progress);
  if (card_at_bank || isWaiting) void refreshSoon();
}

function showFooter(merchant: AccountMerchant): void {
  setSupport('support', texts.support, merchant);
  setText('safety', filled(texts.safety, { merchant: merchant.name }));
}

function showCard(): void {
  const { cards, card_at_bank, allow_update_card } = account;
  const card = cards.find(({ is_default }) => is_default);
  const line = byId('default-card');
  if (card) {
    const expires = filled(texts.cardExpires, { date: expiryText(card) });
    line.replaceChildren(brandMark(card.brand), element('span', {}, cardName(card)), element('small', {}, expires));
  } else line.replaceChildren(texts.noCard);
  const amounts = account.credit.map(({ amount, currency }) => money(amount, currency)).join(', ');
  setText('credit', amounts === '' ? null : filled(texts.credit, { amounts }));
  byId('change-card').hidden = !allow_update_card || !byId('card-form').hidden;
  byId('change-card').textContent = cards.length > 0 ? texts.changeCard : texts.addCard;
  byId('card-at-bank').hidden = !card_at_bank;
  if (card_at_bank) byId('card-bank', HTMLAnchorElement).href = card_at_bank.bank_url;
}

async function refreshSoon(): Promise<void> {
  await pauseMs(pollMs);
  const answer = await request<Account>(`${token}/account`);
  if (answer.kind === 'done' && !isBusy) show(answer.body);
  else void refreshSoon();
}

/** Each action can be repeated: the service does it once. */
async function send(path: string, body: object): Promise<Exclude<Answer<Account>, { kind: 'lost' }>> {
  return untilAnswered(
    () => request<Account>(`${token}/${path}`, body, actionTimeoutMs),
    () => say('problem', texts.lost),
  );
}

async function act(action: SubscriptionAction, subscription: AccountSubscription): Promise<void> {
  if (action === 'plan') return changePlan(subscription);
  if (action === 'again') return subscribeAgain(subscription);
  if (isBusy) return;
  const body = await bodyOf(action, subscription);
  if (!body || isBusy) return;
  if (action === 'abandon' && !subscription.overdue?.in_progress) return chooseAnotherCard();
  isBusy = true;
  const button = byId('subscriptions').querySelector<HTMLButtonElement>(
    `[data-subscription="${subscription.id}"] [data-action="${action}"]`,
  );
  if (button) button.disabled = true;
  if (button && action === 'pay') button.textContent = texts.paying;
  const answer = await send(`subscriptions/${subscription.id}/${action}`, body);
  isBusy = false;
  if (answer.kind === 'refused') {
    await load();
    return say('problem', problemText(answer.problem));
  }
  show(answer.body);
  report(action, subscription);
  const bank = byId('subscriptions').querySelector<HTMLAnchorElement>(
    `[data-subscription="${subscription.id}"] [data-action="bank"]`,
  );
  if (action === 'pay') bank?.click();
}

/** What is sent, once the customer has agreed; undefined if not. */
async function bodyOf(action: SubscriptionAction, subscription: AccountSubscription): Promise<object | undefined> {
  if (action === 'pay') return { declines: subscription.overdue?.declines ?? 0, browser: browserReport() };
  if (action === 'pause') {
    const until = await choosePause(subscription);
    return until ? { until } : undefined;
  }
  if (action === 'continue') {
    const expected_amount = await askToContinue(subscription, account.merchant);
    return expected_amount === undefined ? undefined : { expected_amount };
  }
  return (await isConfirmed(action, subscription)) ? {} : undefined;
}

async function subscribeAgain(subscription: AccountSubscription): Promise<void> {
  if (isBusy) return;
  const card = account.cards.find(({ is_default }) => is_default);
  if (!card) return say('problem', texts.noCardToCharge);
  const expected_amount = await askToSubscribe(subscription, account.merchant, cardName(card));
  if (expected_amount === undefined || isBusy) return;
  const path = `subscriptions/${subscription.id}/again`;
  const name = subscription.again?.name ?? subscription.name;
  await order(path, { expected_amount, browser: browserReport() }, (status) => {
    if (status === 'applied') say('done', filled(texts.againDone, { name }));
    else say('problem', texts.againDeclined);
  });
}

function chooseAnotherCard(): void {
  if (!account.allow_update_card) return;
  openCardForm(true);
  byId('card-form').scrollIntoView({ block: 'nearest' });
}

async function changePlan(subscription: AccountSubscription): Promise<void> {
  if (isBusy) return;
  const path = `subscriptions/${subscription.id}`;
  const chosen = await choosePlan(subscription, (choice) =>
    request<PlanPreview>(`${token}/${path}/preview_plan`, choice),
  );
  if (!chosen) return;
  const said = { applied: texts.planDone, scheduled: texts.planScheduledDone };
  await order(`${path}/change_plan`, { ...chosen, browser: browserReport() }, (status) => {
    if (status === 'applied' || status === 'scheduled') return say('done', said[status]);
    say('problem', status === 'declined' ? texts.planDeclined : texts.planEnded);
  });
}

type Ordered = NonNullable<Account['change']>['status'];

/** Sends what may charge the customer, and leads to the bank if that wants to confirm it. */
async function order(path: string, body: object, onOutcome: (status: Ordered) => void): Promise<void> {
  isBusy = true;
  byId('account').setAttribute('aria-busy', 'true');
  const answer = await send(path, body);
  isBusy = false;
  byId('account').removeAttribute('aria-busy');
  if (answer.kind === 'refused') {
    await load();
    return say('problem', problemText(answer.problem));
  }
  show(answer.body);
  const { change } = answer.body;
  if (!change) return;
  const bank = change.confirm_url;
  if (bank && /^https?:\/\//i.test(bank)) return location.assign(bank);
  onOutcome(change.status);
}

/** Says what happened, by the subscription as it is now. */
function report(action: SubscriptionAction, before: AccountSubscription): void {
  const { name, currency, overdue } = before;
  const now = account.subscriptions.find(({ id }) => id === before.id);
  const amount = money(overdue?.total ?? 0, currency);
  if (action === 'pay') {
    if (now?.overdue?.in_progress) return;
    return now?.overdue ? say('problem', texts.payDeclined) : say('done', filled(texts.paid, { amount }));
  }
  if (action === 'abandon') {
    if (now?.overdue?.in_progress) return;
    say('done', texts.abandoned);
    return chooseAnotherCard();
  }
  const at = now?.ends_at ?? now?.pause?.until;
  const date = at ? dateText(at) : '';
  const said = {
    pause: texts.pauseDone,
    continue: texts.continueDone,
    again: texts.againDone,
    end_renewal: texts.endDone,
    keep_renewal: texts.keepDone,
    cancel: texts.cancelDone,
    undo_plan: texts.planUndone,
    plan: texts.planDone,
  }[action];
  say('done', filled(said, { name, date }));
}

function openCardForm(isOpen: boolean): void {
  byId('card-form').hidden = !isOpen;
  byId('change-card').hidden = isOpen || !account.allow_update_card;
  picker?.unmount();
  picker = undefined;
  if (!isOpen) return;
  const link = { page: 'customer', token, live: account.livemode } as const;
  picker = createCardPicker(link, account.cards, { ...texts, language: pageLocale() });
  byId('hint').hidden = account.livemode;
  if (account.rehearsal) byId('hint').textContent = texts.rehearsalHint;
}

async function saveCard(): Promise<void> {
  if (isBusy || !picker) return;
  isBusy = true;
  setSaving('save-card', texts.saving);
  const problem = await saveChosen(picker).catch(() => texts.problem);
  isBusy = false;
  setSaving('save-card', undefined, texts.saveCard);
  if (problem) say('problem', problem);
}

/** Returns the problem, if there is one that the card fields do not show. */
async function saveChosen(from: CardPicker): Promise<string | undefined> {
  const chosen = await from.card();
  if (!chosen) return undefined;
  const known = account.cards.map(({ id }) => id);
  const answer = await send('card', { ...chosen, browser: browserReport() });
  if (answer.kind === 'refused') {
    await load();
    // A token works once: if the first answer was lost, the card is there and the repeated request is refused.
    if (account.cards.every(({ id }) => known.includes(id))) return problemText(answer.problem);
  } else show(answer.body);
  openCardForm(false);
  if (account.card_at_bank) {
    location.assign(account.card_at_bank.bank_url);
    return undefined;
  }
  sayCardSaved();
  return undefined;
}

function sayCardSaved(): void {
  const card = account.cards.find(({ is_default }) => is_default);
  say('done', filled(texts.cardSaved, { card: card ? cardName(card) : '' }));
}

async function showMore(): Promise<void> {
  const answer = await request<Payments>(`${token}/payments`, { starting_after: nextPayments });
  if (answer.kind !== 'done') return say('problem', texts.problem);
  nextPayments = answer.body.next;
  showPayments(token, answer.body, true);
}

async function loadCompany(): Promise<void> {
  const answer = await untilAnswered(() => request<CompanyOfPage>(`${token}/company`), showAway, true);
  if (answer.kind === 'refused') {
    return enterOutcome('unknown', { symbol: 'clock', title: texts.unknownTitle, text: texts.unknown, isAlone: true });
  }
  const { merchant } = answer.body;
  const words = { merchant: merchant.name };
  showMerchant(answer.body);
  byId('outcome').hidden = true;
  byId('email-form').hidden = false;
  byId('layout').dataset.state = 'open';
  byId('email-text').textContent = filled(texts.emailText, words);
  const email = createInput('email', (value) => {
    if (value === '') return texts.emailMissing;
    return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value) ? undefined : texts.emailWrong;
  });
  byId('email-form').addEventListener('submit', (event) => {
    event.preventDefault();
    if (isBusy) return;
    if (email.check()) void sendLink(email.value(), merchant.name, (text) => email.showError(text));
    else email.control.focus();
  });
}

async function sendLink(email: string, merchant: string, onProblem: (text: string) => void): Promise<void> {
  isBusy = true;
  setSaving('send', texts.sending);
  const answer = await request<{ readonly minutes: number }>(`${token}/links`, { email });
  isBusy = false;
  setSaving('send', undefined, texts.sendLink);
  if (answer.kind === 'refused') return onProblem(problemText(answer.problem));
  if (answer.kind === 'lost') return onProblem(texts.problem);
  byId('email-form').hidden = true;
  const text = filled(texts.sent, { email, merchant, minutes: answer.body.minutes });
  enterOutcome('sent', { symbol: 'tick', title: texts.sentTitle, text, isAlone: true });
}

byId('change-card').addEventListener('click', () => openCardForm(true));
byId('close-card').addEventListener('click', () => openCardForm(false));
byId('card-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void saveCard();
});
byId('more').addEventListener('click', () => void showMore());
byId('confirm-yes').addEventListener('click', () => byId('confirm', HTMLDialogElement).close('yes'));
byId('pause-form').addEventListener('submit', (event) => {
  event.preventDefault();
  byId('pause', HTMLDialogElement).close('yes');
});
byId('pause-no').addEventListener('click', () => byId('pause', HTMLDialogElement).close(''));
byId('confirm-no').addEventListener('click', () => byId('confirm', HTMLDialogElement).close(''));
byId('outcome-retry').addEventListener('click', () => dispatchEvent(new Event('online')));
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
/** The browser comes back from the bank with the subscription that was paid, or for the card that is to be saved. */
async function loadAfterReturn(returned: Readonly<Record<string, string>>): Promise<void> {
  const isCard = returned.returned === 'card';
  const path = isCard ? 'card/resume' : `subscriptions/${encodeURIComponent(returned.returned ?? '')}/resume`;
  const resume = () => request<Account>(`${token}/${path}`, { returned }, actionTimeoutMs);
  const answer = await untilAnswered(resume, showAway, true);
  if (answer.kind === 'refused') {
    await load();
    if (isCard) say('problem', problemText(answer.problem));
    return;
  }
  show(answer.body);
  if (isCard && !account.card_at_bank) sayCardSaved();
}

const returned = isOfCompany ? undefined : takeReturn();
if (returned) void loadAfterReturn(returned);
else void (isOfCompany ? loadCompany() : load());
