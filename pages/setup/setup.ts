import { browserReport, takeReturn } from '../shared/at-bank.ts';
import { type CardPicker, createCardPicker } from '../shared/card-picker.ts';
import { byId, element, filled, setSupport, setText } from '../shared/dom.ts';
import { showHeader } from '../shared/header.ts';
import { enterOutcome, leaveOutcome } from '../shared/outcome.ts';
import { pageLocale } from '../shared/page-texts.ts';
import { type Answer, pauseMs, type Problem, request, untilAnswered } from '../shared/requests.ts';
import { brandMark, brandName, cardName } from '../shared/saved-cards.ts';
import type { Setup } from './session.ts';
import { texts } from './texts.ts';

/** The page on which a customer saves a card for a merchant, without a payment. */

const token = location.pathname.split('/').filter(Boolean).at(-1) ?? '';
/** Relative to /setup/…, so that it also works under a path of a proxy. */
const sessionUrl = `../checkout/${token}/setup`;
const pollMs = 2_000;
const actionTimeoutMs = 60_000;

let picker: CardPicker | undefined;
/** True from the press of the button until the browser leaves, or the outcome is known. */
let isBusy = false;
/** The customer wants to type another card, although the bank still waits. */
let wantsAnother = false;

async function load(returned?: Readonly<Record<string, string>>): Promise<void> {
  const ask = (): Promise<Answer<Setup>> =>
    returned ? request<Setup>(`${sessionUrl}/resume`, { returned }, actionTimeoutMs) : request<Setup>(sessionUrl);
  const answer = await untilAnswered(ask, showAway, true);
  if (answer.kind === 'done') return show(answer.body);
  if (!returned) {
    return enterOutcome('unknown', { symbol: 'clock', title: texts.unknownTitle, text: texts.unknown, isAlone: true });
  }
  await load();
  showProblem(problemText(answer.problem));
}

function show(setup: Setup): void {
  const { merchant, livemode, rehearsal, status, cancel_url: url } = setup;
  const words = { merchant: merchant.name };
  const title = filled(texts.pageTitle, words);
  const back = { url, label: filled(texts.back, words) };
  showHeader(merchant, { livemode, mode: rehearsal && texts.rehearsal, title, back });
  if (status === 'open' || (status === 'at_bank' && wantsAnother)) return showForm(setup);
  byId('form').hidden = true;
  if (status === 'at_bank') return showAtBank(setup);
  if (status === 'completed') return showSaved(setup);
  const isOver = status === 'expired';
  byId('outcome-other').hidden = true;
  enterOutcome(status, {
    symbol: 'clock',
    title: isOver ? texts.expiredTitle : texts.unavailableTitle,
    text: filled(isOver ? texts.expired : texts.unavailable, words),
    support: { text: texts.support, merchant },
    isAlone: true,
  });
}

function showForm({ merchant, livemode, rehearsal, card_brands }: Setup): void {
  leaveOutcome();
  byId('form').hidden = false;
  const words = { merchant: merchant.name };
  picker ??= createCardPicker({ page: 'checkout', token, live: livemode }, [], { ...texts, language: pageLocale() });
  byId('form-text').textContent = filled(texts.open, words);
  byId('safety').textContent = filled(texts.safety, words);
  byId('hint').hidden = livemode;
  if (rehearsal) byId('hint').textContent = texts.rehearsalHint;
  const accepted = byId('accepted');
  accepted.hidden = card_brands.length === 0;
  accepted.setAttribute('aria-label', filled(texts.accepted, { brands: card_brands.map(brandName).join(', ') }));
  accepted.replaceChildren(...card_brands.map(brandMark));
  setSupport('form-support', texts.support, merchant);
}

function showProblem(text: string | null): void {
  setText('banner-text', text);
  byId('banner').hidden = !text;
  if (text) byId('banner').focus();
}

/** The customer may come back without an answer, or open the page in another tab: the way to the bank stays open. */
function showAtBank({ bank_url: url, merchant }: Setup): void {
  byId('outcome-other').hidden = false;
  enterOutcome('bank', {
    symbol: 'wait',
    title: texts.bankTitle,
    text: texts.bank,
    link: url ? { url, text: texts.toBank } : undefined,
    support: { text: texts.support, merchant },
    isAlone: true,
  });
  void poll();
}

function showSaved({ merchant, card, success_url: url }: Setup): void {
  const words = { merchant: merchant.name };
  byId('outcome-other').hidden = true;
  enterOutcome('completed', {
    symbol: 'tick',
    title: texts.savedTitle,
    text: filled(texts.saved, words),
    rows: card
      ? [[texts.savedCard, element('span', { class: 'card-name' }, brandMark(card.brand), cardName(card))]]
      : [],
    link: url ? { url, text: filled(texts.continue, words) } : undefined,
    support: { text: texts.support, merchant },
    isAlone: true,
  });
}

async function poll(): Promise<void> {
  await pauseMs(pollMs);
  const answer = await untilAnswered(() => request<Setup>(sessionUrl), showLost, true);
  if (answer.kind === 'done' && !isBusy && !wantsAnother) show(answer.body);
}

const problemText = ({ status, param, retryAfter }: Problem): string => {
  if (status === 429) return filled(texts.tooMany, { seconds: retryAfter ?? 30 });
  return param === 'card_token' ? texts.cardAgain : texts.problem;
};

function setBusy(next: boolean): void {
  isBusy = next;
  const button = byId('save', HTMLButtonElement);
  button.disabled = next;
  button.classList.toggle('busy', next);
  byId('save-text').textContent = next ? texts.saving : texts.save;
}

async function save(): Promise<void> {
  if (isBusy || !picker) return;
  showProblem(null);
  if (!(await picker.check())) return;
  setBusy(true);
  const chosen = await picker.card();
  if (!chosen) return setBusy(false);
  const send = () => request<Setup>(`${sessionUrl}/save`, { ...chosen, browser: browserReport() }, actionTimeoutMs);
  const answer = await untilAnswered(send, showLost);
  wantsAnother = false;
  if (answer.kind === 'done' && answer.body.bank_url) {
    location.assign(answer.body.bank_url);
    return;
  }
  setBusy(false);
  if (answer.kind === 'done') return show(answer.body);
  // A token works once: if the first answer was lost, the card may be saved, and the repeated request is refused.
  await load();
  if (!byId('form').hidden) showProblem(problemText(answer.problem));
}

function showLost(): void {
  byId('form').hidden = true;
  enterOutcome('lost', { symbol: 'wait', title: texts.lostTitle, text: texts.lost, isAlone: true });
}

function showAway(): void {
  enterOutcome('away', { symbol: 'cloud', title: texts.awayTitle, text: texts.away, canRetry: true, isAlone: true });
}

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  void save();
});
byId('outcome-other').addEventListener('click', () => {
  wantsAnother = true;
  void load();
});
// Ends the pause before the next try.
byId('outcome-retry').addEventListener('click', () => dispatchEvent(new Event('online')));
// The browser keeps the page for its back button; meanwhile the card may have been saved.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
void load(takeReturn());
