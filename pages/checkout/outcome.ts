import { formatLocale, type Template } from '../../server/customer-texts/messages.ts';
import { byId, element, filled, ownText, setText } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { enterOutcome, leaveOutcome, type Outcome } from '../shared/outcome.ts';
import { pageLocale } from '../shared/page-texts.ts';
import { brandMark, cardName } from '../shared/saved-cards.ts';
import type { Result, Session } from './session.ts';
import { texts } from './texts.ts';

/** What the page shows instead of the form: it waits, it is done, or it cannot go on. */

export function hideOutcome(): void {
  leaveOutcome();
  byId('form').hidden = false;
}

function showOutcome(state: string, outcome: Outcome): void {
  byId('form').hidden = true;
  byId('outcome-other').hidden = state !== 'bank';
  enterOutcome(state, outcome);
}

export function showProcessing(): void {
  showOutcome('processing', { symbol: 'wait', title: texts.processingTitle, text: texts.processing });
}

/** A link and not only a redirect: the customer may come back without an answer, or open the page in another tab. */
export function showAtBank({ url, expires_at }: NonNullable<Session['next_action']>): void {
  const time = new Date(expires_at).toLocaleTimeString(formatLocale(pageLocale()), {
    hour: 'numeric',
    minute: '2-digit',
  });
  const text = filled(texts.bank, { time });
  showOutcome('bank', { symbol: 'wait', title: texts.bankTitle, text, link: { url, text: texts.toBank } });
}

export function showLost(): void {
  showOutcome('lost', { symbol: 'wait', title: texts.lostTitle, text: texts.lost });
}

export function showAway(): void {
  showOutcome('away', { symbol: 'cloud', title: texts.awayTitle, text: texts.away, canRetry: true, isAlone: true });
}

export function showUnknown(): void {
  showOutcome('unknown', { symbol: 'clock', title: texts.unknownTitle, text: texts.unknown, isAlone: true });
}

/** The service refuses to show the session. */
export function showRefused(text: string): void {
  showOutcome('unknown', { symbol: 'clock', title: texts.unavailableTitle, text, isAlone: true });
}

export function showUnavailable({ merchant, cancel_url }: Session): void {
  const values = { merchant: merchant.name };
  showOutcome('unavailable', {
    symbol: 'clock',
    title: texts.unavailableTitle,
    text: filled(texts.unavailable, values),
    link: cancel_url ? { url: cancel_url, text: filled(texts.back, values) } : undefined,
    support: { text: texts.support, merchant },
  });
}

export function showExpired({ merchant, cancel_url }: Session): void {
  const values = { merchant: merchant.name };
  showOutcome('expired', {
    symbol: 'clock',
    title: texts.expiredTitle,
    text: filled(texts.expired, values),
    link: cancel_url ? { url: cancel_url, text: filled(texts.back, values) } : undefined,
    support: { text: texts.support, merchant },
  });
}

/** Says where the email with the receipt goes. On the machine of a developer, it is in the mailbox. */
function showReceiptEmail(email: Result['receipt_email']): void {
  setText('outcome-sent', email && filled(texts.receiptEmail[email.state], { email: email.to }));
  if (email?.state !== 'mailbox') return;
  // Relative to /checkout/…, so that it also works under a path of a proxy. Found by the address: the email may be a moment away.
  const attributes = {
    href: `../mailbox?q=${encodeURIComponent(email.to)}`,
    target: '_blank',
    rel: 'noopener noreferrer',
  };
  byId('outcome-sent').append(' ', element('a', attributes, texts.openMailbox));
}

function showThanks(thanks: Result['thank_you']): void {
  byId('outcome-own').hidden = !thanks;
  byId('outcome-own').replaceChildren(...(thanks ? [ownText(thanks)] : []));
}

interface Said {
  readonly title: string;
  readonly text: Template | string;
  /** How the amount and the card are called; without it, they are not shown. */
  readonly amount?: string;
  readonly card?: string;
}

const said: Readonly<Record<Result['state'] | 'subscribed', Said>> = {
  paid: { title: texts.paidTitle, text: texts.paid, amount: texts.amountPaid, card: texts.paidWith },
  subscribed: { title: texts.subscribedTitle, text: texts.paid, amount: texts.amountPaid, card: texts.paidWith },
  held: { title: texts.heldTitle, text: texts.held, amount: texts.amountHeld, card: texts.heldOn },
  released: { title: texts.releasedTitle, text: texts.released },
};

const saidOf = (mode: Session['mode'], { state }: Result): Said =>
  said[mode === 'subscription' && state === 'paid' ? 'subscribed' : state];

const returnDelayMs = 3_000;

export function showCompleted({ result, merchant, mode, success_url }: Session): void {
  const support = { text: texts.support, merchant };
  if (!result) {
    showOutcome('completed', { symbol: 'tick', title: texts.paidBeforeTitle, text: texts.paidBefore, support });
    return;
  }
  const total = money(result.total, result.currency);
  const values = { merchant: merchant.name, total };
  const { card } = result;
  const words = saidOf(mode, result);
  showOutcome('completed', {
    symbol: 'tick',
    title: words.title,
    text: filled(words.text, values),
    rows: [
      [texts.order, result.order_number],
      ...(words.amount ? [[words.amount, total] as const] : []),
      ...(card && words.card
        ? [[words.card, element('span', { class: 'card-name' }, brandMark(card.brand), cardName(card))] as const]
        : []),
    ],
    receiptUrl: result.receipt_url,
    link: success_url ? { url: success_url, text: filled(texts.continue, values) } : undefined,
    note: success_url ? filled(texts.returning, values) : undefined,
    support,
  });
  showThanks(result.thank_you);
  showReceiptEmail(result.receipt_email);
  const target = byId('outcome-link', HTMLAnchorElement);
  if (!target.hidden) setTimeout(() => location.assign(target.href), returnDelayMs);
}
