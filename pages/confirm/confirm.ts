import { browserReport, takeReturn } from '../shared/at-bank.ts';
import { byId, element, filled, setSupport, setText } from '../shared/dom.ts';
import { showHeader } from '../shared/header.ts';
import { money } from '../shared/money.ts';
import { enterOutcome, leaveOutcome } from '../shared/outcome.ts';
import { type Answer, pauseMs, request, untilAnswered } from '../shared/requests.ts';
import { brandMark, cardName } from '../shared/saved-cards.ts';
import type { Payment } from './payment.ts';
import { texts } from './texts.ts';

/** The page on which a customer confirms one payment with the bank. The service decides everything; the page shows it. */

const token = location.pathname.split('/').filter(Boolean).at(-1) ?? '';
const pollMs = 2_000;
const actionTimeoutMs = 60_000;

/** True from the press of a button until the browser leaves, or the outcome is known. */
let isBusy = false;
/** How often the payment was declined before the try that waits at the bank. */
let declinesBefore = 0;

async function load(): Promise<void> {
  const returned = takeReturn();
  const ask = (): Promise<Answer<Payment>> =>
    returned
      ? request<Payment>(`${token}/resume`, { returned }, actionTimeoutMs)
      : request<Payment>(`${token}/payment`);
  const answer = await untilAnswered(ask, returned ? showLost : showAway, true);
  if (answer.kind === 'done') return show(answer.body);
  enterOutcome('unknown', { symbol: 'clock', title: texts.unknownTitle, text: texts.unknown, isAlone: true });
}

function show(payment: Payment): void {
  const { merchant, livemode, rehearsal, status } = payment;
  const title = filled(texts.pageTitle, { merchant: merchant.name });
  showHeader(merchant, { livemode, mode: rehearsal && texts.rehearsal, title, back: { url: null, label: '' } });
  byId('ask').hidden = status !== 'open';
  byId('outcome-other').hidden = true;
  if (status === 'open') return showQuestion(payment);
  if (status === 'processing') return showProgress(payment);
  const wording = wordsOf(payment);
  enterOutcome(status, {
    symbol: status === 'confirmed' ? 'tick' : 'clock',
    ...wording,
    rows: status === 'confirmed' ? rowsOf(payment) : [],
    support: { text: texts.support, merchant },
    isAlone: true,
  });
}

function wordsOf({ status, merchant, details }: Payment): { title: string; text: string } {
  const words = { merchant: merchant.name };
  if (status === 'ended') return { title: texts.endedTitle, text: filled(texts.ended, words) };
  if (!details) return { title: texts.confirmedTitle, text: filled(texts.paidBefore, words) };
  const amount = money(details.amount, details.currency);
  const text = filled(details.is_held ? texts.held : texts.confirmed, { ...words, amount });
  return { title: details.is_held ? texts.heldTitle : texts.confirmedTitle, text };
}

function rowsOf({ details }: Payment): (readonly [string, Node | string])[] {
  if (!details) return [];
  const { order_number, amount, currency, card } = details;
  return [
    [texts.amount, money(amount, currency)],
    [texts.card, element('span', { class: 'card-name' }, brandMark(card.brand), cardName(card))],
    [texts.order, order_number],
  ];
}

function showQuestion(payment: Payment): void {
  leaveOutcome();
  byId('ask').dataset.declines = String(payment.declines);
  const words = { merchant: payment.merchant.name };
  byId('ask-text').textContent = filled(texts.open, words);
  byId('safety').textContent = filled(texts.safety, words);
  byId('ask-rows').replaceChildren(
    ...rowsOf(payment).map(([label, value]) => element('div', {}, element('dt', {}, label), element('dd', {}, value))),
  );
  setSupport('ask-support', texts.support, payment.merchant);
  showFailure(payment.failure);
}

function showFailure(text: string | null): void {
  setText('banner-text', text);
  byId('banner').hidden = !text;
}

/** The bank may wait in another tab, or the customer came back without an answer: the way there stays open. */
function showProgress({ next_action: action, merchant, declines }: Payment): void {
  declinesBefore = declines;
  byId('outcome-other').hidden = !action;
  enterOutcome('processing', {
    symbol: 'wait',
    title: action ? texts.backAtBankTitle : texts.processingTitle,
    text: action ? texts.backAtBank : texts.processing,
    link: action ? { url: action.url, text: texts.continueAtBank } : undefined,
    support: { text: texts.support, merchant },
    isAlone: true,
  });
  void poll();
}

async function poll(): Promise<void> {
  await pauseMs(pollMs);
  const answer = await untilAnswered(() => request<Payment>(`${token}/payment`), showLost, true);
  if (answer.kind === 'done' && !isBusy) show(answer.body);
}

function setBusy(next: boolean): void {
  isBusy = next;
  const button = byId('confirm', HTMLButtonElement);
  button.disabled = next;
  button.classList.toggle('busy', next);
  byId('confirm-text').textContent = next ? texts.confirming : texts.confirm;
}

async function confirmPayment(): Promise<void> {
  if (isBusy) return;
  setBusy(true);
  showFailure(null);
  const declines = Number(byId('ask').dataset.declines);
  const send = () => request<Payment>(`${token}/confirm`, { declines, browser: browserReport() }, actionTimeoutMs);
  const answer = await untilAnswered(send, showLost);
  if (answer.kind === 'done' && answer.body.next_action) {
    location.assign(answer.body.next_action.url);
    return;
  }
  setBusy(false);
  if (answer.kind === 'done') return show(answer.body);
  leaveOutcome();
  byId('ask').hidden = false;
  showFailure(answer.problem.message);
  byId('banner').focus();
}

/** The try that waits at the bank ends first, so that only one can be made. */
async function payOtherwise(): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  byId('outcome-other').hidden = true;
  const send = () => request<Payment>(`${token}/abandon`, { declines: declinesBefore }, actionTimeoutMs);
  const answer = await untilAnswered(send, showLost, true);
  isBusy = false;
  if (answer.kind === 'refused') return load();
  show(answer.body);
  if (answer.body.status !== 'open') return;
  showFailure(texts.abandoned);
  byId('banner').focus();
}

function showLost(): void {
  byId('ask').hidden = true;
  byId('outcome-other').hidden = true;
  enterOutcome('lost', { symbol: 'wait', title: texts.lostTitle, text: texts.lost, isAlone: true });
}

function showAway(): void {
  enterOutcome('away', { symbol: 'cloud', title: texts.awayTitle, text: texts.away, canRetry: true, isAlone: true });
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void confirmPayment();
});
byId('outcome-other').addEventListener('click', () => void payOtherwise());
// Ends the pause before the next try.
byId('outcome-retry').addEventListener('click', () => dispatchEvent(new Event('online')));
// The browser keeps the page for its back button; meanwhile the payment may have changed.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
void load();
