import { browserReport, takeReturn } from '../shared/at-bank.ts';
import { type CardPicker, createCardPicker } from '../shared/card-picker.ts';
import { byId, filled, setText } from '../shared/dom.ts';
import { inWords, pageLocale } from '../shared/page-texts.ts';
import { firstInvalid } from '../shared/inputs.ts';
import { money } from '../shared/money.ts';
import { brandMark, brandName } from '../shared/saved-cards.ts';
import { type Problem, pauseMs, request, untilAnswered } from '../shared/requests.ts';
import { agreedTo, showAgreement } from './agreement.ts';
import { announce, type Cart, createCart, showCoupon } from './cart.ts';
import { type Contact, createContact, showAsked } from './contact.ts';
import {
  hideOutcome,
  showAtBank,
  showAway,
  showCompleted,
  showExpired,
  showLost,
  showProcessing,
  showRefused,
  showUnavailable,
  showUnknown,
} from './outcome.ts';
import { payLabel, termsOf } from './plan-texts.ts';
import { isPreview, showDrafts } from './preview.ts';
import { createProver, type Prover } from './prover.ts';
import type { Payment, Session } from './session.ts';
import { prepareFold, showLines, showMerchant, showResultTotal, showTotals } from './summary.ts';
import { texts } from './texts.ts';

/** The checkout page. The service decides everything; the page shows it and repeats what got lost. */

const token = location.pathname.split('/').filter(Boolean).at(-1) ?? '';
/** Relative to /checkout/…, so that it also works under a path of a proxy. */
const sessionUrl = token;
const pollMs = 2_000;
const payTimeoutMs = 60_000;

interface Form {
  readonly cart: Cart;
  readonly contact: Contact;
  readonly card: CardPicker;
  readonly prover: Prover;
}

let session: Session;
let form: Form | undefined;
/** True from the press of the button until the outcome is known: a second press does nothing. */
let isPaying = false;
/** What the bank sent back. The bank may know more a moment later, so the service is asked with it some times. */
let returned: ReturnType<typeof takeReturn>;
let asksAfterReturn = 15;
/** Only the last one that began goes on. */
let polls = 0;
/** Why the form is shown again. */
let banner: { readonly title: string; readonly text: string } | undefined;

/** Returns nothing if there is no such session any more; the page then says so. */
async function readSession(onLost: () => void): Promise<Session | undefined> {
  const ask = (): ReturnType<typeof request<Session>> =>
    returned ? request(`${sessionUrl}/resume`, { returned }) : request(`${sessionUrl}/session`);
  const answer = await untilAnswered(ask, onLost, true);
  asksAfterReturn -= returned ? 1 : 0;
  if (asksAfterReturn <= 0) returned = undefined;
  if (answer.kind === 'done') return answer.body;
  if (answer.problem.status === 404) showUnknown();
  else showRefused(inWords(answer.problem.message, texts.refused));
  return undefined;
}

async function load(): Promise<void> {
  const found = await readSession(showAway);
  if (found) show(found);
}

function show(next: Session, isAnswerToPayment = false): void {
  session = next;
  showMerchant(next);
  if (isAnswerToPayment) form?.cart.replace(next);
  else if (next.status === 'open') void form?.cart.refresh();
  if (next.status === 'open') return showForm();
  showSummary();
  if (next.status === 'completed') return showCompleted(next);
  if (next.status === 'expired') return showExpired(next);
  if (next.status === 'unavailable') return showUnavailable(next);
  showProgress(next, isAnswerToPayment);
}

/** The payment is being made, or waits for the bank. */
function showProgress({ next_action: action }: Session, isAnswerToPayment: boolean): void {
  if (action && !returned) showAtBank(action);
  else showProcessing();
  void poll();
  // In a tab that asked for another payment, the customer chooses. The link exists only for a web address.
  if (isAnswerToPayment && action?.is_own) byId('outcome-link').click();
}

/** Shows a draft as if it were the answer to a payment: its prices replace those of the draft before. */
function preview(draft: Session): void {
  show(draft, true);
  showAsked(draft);
}

async function poll(): Promise<void> {
  polls += 1;
  const own = polls;
  await pauseMs(pollMs);
  const found = own === polls ? await readSession(showLost) : undefined;
  if (found && own === polls) show(found);
}

/** The payment that waits for the bank ends first, so that only one can be made. */
async function payOtherwise(): Promise<void> {
  polls += 1;
  showProcessing();
  const { attempt } = session;
  const answer = await untilAnswered(() => request<Session>(`${sessionUrl}/abandon`, { attempt }), showLost, true);
  if (answer.kind === 'done') show(answer.body);
  else await load();
}

function showForm(): void {
  form ??= {
    cart: createCart(sessionUrl, session, render),
    contact: createContact(session),
    card: createCardPicker({ page: 'checkout', token, live: session.livemode }, session.saved_cards, {
      ...texts,
      language: pageLocale(),
    }),
    prover: createProver(),
  };
  form.prover.prepare(session.proof);
  hideOutcome();
  returned = undefined;
  const { failure } = session;
  const title = failure?.code === 'not_confirmed' ? texts.notPaidTitle : texts.declinedTitle;
  banner = failure ? { title, text: failure.message } : undefined;
  byId('hint').hidden = session.livemode;
  if (session.rehearsal) byId('hint').textContent = texts.rehearsalHint;
  showAccepted(session.card_brands);
  byId('safety').textContent = filled(texts.safety, { merchant: session.merchant.name });
  render();
}

function showAccepted(brands: readonly string[]): void {
  const place = byId('accepted');
  place.hidden = brands.length === 0;
  place.setAttribute('aria-label', filled(texts.accepted, { brands: brands.map(brandName).join(', ') }));
  place.replaceChildren(...brands.map(brandMark));
}

/** A session that is over has no prices; then the page keeps showing those it had. */
function showSummary(): void {
  const quote = form?.cart.quote() ?? { ...session, currency: session.currency ?? '' };
  byId('details').hidden = quote.currency === '';
  byId('fold').hidden = quote.currency === '';
  if (quote.currency === '') return showResultTotal(session);
  const isOpen = session.status === 'open';
  const fixed = quote.lines.map((line) => ({ ...line, quantity_min: line.quantity, quantity_max: line.quantity }));
  if (!isOpen) byId('lines').replaceChildren();
  showLines(isOpen ? quote.lines : fixed, quote.currency, (line, quantity) => {
    if (!isPaying) form?.cart.setQuantity(line, quantity);
  });
  showTotals(session, quote);
  showCoupon(isOpen && session.allow_coupons, quote, form?.cart.ownCode());
}

function render(): void {
  if (!form) return;
  const { cart } = form;
  const isBusy = isPaying || cart.isUpdating();
  showSummary();
  byId('totals').setAttribute('aria-busy', String(cart.isUpdating()));
  setText('terms', termsOf(session, cart.quote()));
  showAgreement(session, cart.quote());
  const button = byId('pay', HTMLButtonElement);
  // What the customer agrees to stands right above the button that says so.
  if (session.merchant.names_duty) button.before(byId('terms'));
  button.disabled = isBusy;
  button.classList.toggle('busy', isPaying);
  byId('pay-text').textContent = isPaying ? payingText() : payLabel(session, cart.quote());
  byId('banner').hidden = !banner;
  byId('banner-title').textContent = banner?.title ?? '';
  byId('banner-text').textContent = banner?.text ?? '';
}

const payingText = (): string => (session.capture === 'manual' ? texts.placing : texts.paying);

function setBanner(next: typeof banner): void {
  banner = next;
  render();
  if (!banner) return;
  byId('banner').scrollIntoView({ block: 'nearest' });
  byId('banner').focus();
}

async function pay({ cart, contact, card, prover }: Form): Promise<void> {
  banner = undefined;
  // A screen reader says the same sentence again only if it went in between.
  announce('');
  const wrong = firstInvalid(contact.inputs);
  const isCardReady = await card.check();
  if (wrong || !isCardReady) {
    announce(texts.fixFields);
    wrong?.control.focus();
    return;
  }
  const chosen = await card.card();
  if (!chosen) return showIfOver();
  const before = cart.quote();
  const payment: Payment = {
    attempt: session.attempt,
    total: before.total,
    ...cart.choices(),
    ...contact.details(),
    ...chosen,
    ...agreedTo(session, before, 'card_token' in chosen),
    browser: browserReport(),
  };
  // The number of the attempt makes it safe to repeat: the service returns the outcome of the first.
  const send = () =>
    untilAnswered(
      async () => request<Session>(`${sessionUrl}/pay`, { ...payment, proof: await prover.answer() }, payTimeoutMs),
      () => showLost(),
    );
  let answer = await send();
  // The service may ask for the proof of work only now.
  if (answer.kind === 'done' && answer.body.proof && answer.body.attempt === payment.attempt) {
    prover.prepare(answer.body.proof);
    answer = await send();
  }
  if (answer.kind === 'refused') return onRefused(answer.problem);
  isPaying = false;
  show(answer.body, true);
  if (answer.body.status !== 'open') return;
  if (answer.body.notice === 'total_changed') {
    const values = { before: money(before.total, before.currency), total: money(cart.quote().total, before.currency) };
    setBanner({ title: texts.totalChangedTitle, text: filled(texts.totalChanged, values) });
  } else setBanner(banner);
}

/** No card is taken while another tab pays, or once it has paid. */
async function showIfOver(): Promise<void> {
  const answer = await request<Session>(`${sessionUrl}/session`);
  if (answer.kind !== 'done' || answer.body.status === 'open') return;
  isPaying = false;
  show(answer.body);
}

async function onRefused(problem: Problem): Promise<void> {
  const { param } = problem;
  // Another tab may have paid meanwhile, or the session may have ended.
  const found = await readSession(showLost);
  if (!found) return;
  session = found;
  if (session.status !== 'open') return show(session);
  hideOutcome();
  form?.prover.prepare(session.proof);
  isPaying = false;
  const wrong = form?.contact.showProblems(problem.field_errors);
  if (wrong) {
    render();
    announce(texts.fixFields);
    return wrong.control.focus();
  }
  // The page has the texts of now, which the customer reads before paying again.
  if (isOfAgreement(param)) void form?.cart.refresh();
  setBanner({ title: texts.notPaidTitle, text: refusalText(problem) });
}

const isOfAgreement = (param: string | null | undefined): boolean => param?.startsWith('agreed.') ?? false;

function refusalText({ status, param, message, retryAfter }: Problem): string {
  if (status === 429) return filled(texts.tooMany, { seconds: retryAfter ?? 30 });
  if (param === 'card_token' || param === 'payment_method_id') return texts.cardAgain;
  return isOfAgreement(param) ? texts.refused : inWords(message, texts.refused);
}

async function onSubmit(): Promise<void> {
  if (!form || isPaying || form.cart.isUpdating()) return;
  isPaying = true;
  render();
  try {
    await pay(form);
  } catch {
    setBanner({ title: texts.notPaidTitle, text: texts.totalFailed });
  } finally {
    isPaying = false;
    render();
  }
}

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  void onSubmit();
});
// Ends the pause before the next try.
byId('outcome-retry').addEventListener('click', () => dispatchEvent(new Event('online')));
byId('outcome-other').addEventListener('click', () => void payOtherwise());
addEventListener('beforeunload', (event) => {
  if (isPaying) event.preventDefault();
});
// The browser keeps the page for its back button; meanwhile the session may have changed.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
prepareFold();
if (isPreview()) showDrafts(preview);
else {
  returned = takeReturn();
  void load();
}
