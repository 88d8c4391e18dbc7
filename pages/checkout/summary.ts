import { byId, drawing, element, filled, setText } from '../shared/dom.ts';
import { showHeader } from '../shared/header.ts';
import { money } from '../shared/money.ts';
import { periodOf } from './plan-texts.ts';
import type { Line, Quote, Session } from './session.ts';
import { texts } from './texts.ts';

/** The left side: the merchant, what is bought, and what it costs. */

function headlineOf({ merchant, status, mode, plan, result }: Session): string {
  const isPaid = status === 'completed' && (result?.state ?? 'paid') === 'paid';
  if (isPaid) return filled(texts.paidTo, { merchant: merchant.name });
  if (status === 'completed') return filled(texts.orderAt, { merchant: merchant.name });
  if (mode === 'subscription' && plan) return filled(texts.subscribe, { plan: plan.name });
  return filled(texts.pay, { merchant: merchant.name });
}

export function showMerchant(session: Session): void {
  const { merchant, cancel_url, livemode, rehearsal, status } = session;
  const words = { merchant: merchant.name };
  showHeader(merchant, {
    livemode,
    mode: rehearsal && texts.rehearsal,
    title: filled(texts.pageTitle, words),
    back: { url: status === 'open' ? cancel_url : null, label: filled(texts.back, words) },
  });
  byId('headline').textContent = headlineOf(session);
}

type OnQuantity = (line: Line, quantity: number) => void;

/** Keeps the rows of the lines, so that the focus stays where the customer changes a quantity. */
export function showLines(lines: readonly Line[], currency: string, onQuantity: OnQuantity): void {
  const list = byId('lines');
  list.hidden = lines.length === 0;
  for (const row of [...list.children]) {
    if (!lines.some((line) => line.product_id === row.getAttribute('data-product'))) row.remove();
  }
  for (const line of lines) {
    const known = [...list.children].find((row) => row.getAttribute('data-product') === line.product_id);
    const row = known ?? list.appendChild(rowOf(line, onQuantity));
    updateRow(row, line, currency);
  }
}

function rowOf(line: Line, onQuantity: OnQuantity): HTMLElement {
  const words = element('div', { class: 'what' }, element('b', {}, element('bdi', {}, line.name)));
  if (line.description) {
    words.append(element('small', { class: 'description' }, element('bdi', {}, line.description)));
  }
  const isAdjustable = line.quantity_max > line.quantity_min;
  words.append(isAdjustable ? stepperOf(line, onQuantity) : element('small', { class: 'quantity' }));
  return element(
    'li',
    { 'data-product': line.product_id },
    pictureOf(line),
    words,
    element('div', { class: 'price' }, element('span', { class: 'sum' }), element('small', { class: 'each' })),
  );
}

function pictureOf({ image_url, name }: Line): HTMLElement {
  const tile = element('div', { class: 'tile', 'aria-hidden': 'true' }, [...name][0]?.toUpperCase());
  if (!image_url) return tile;
  const image = element('img', { alt: '', src: image_url, width: '56', height: '56' });
  image.addEventListener('load', () => tile.replaceChildren(image));
  return tile;
}

function stepperOf(line: Line, onQuantity: OnQuantity): HTMLElement {
  const { name: product, quantity_min: min, quantity_max: max } = line;
  const input = element('input', {
    class: 'count',
    inputmode: 'numeric',
    autocomplete: 'off',
    maxlength: '4',
    'aria-label': filled(texts.quantity, { product }),
  });
  const error = element('small', { class: 'field-error', id: `quantity-error-${line.product_id}`, role: 'alert' });
  const step = (change: number): HTMLButtonElement => {
    const label = filled(change < 0 ? texts.less : texts.more, { product });
    const symbol = drawing(change < 0 ? 'minus' : 'plus', 'icon');
    const button = element('button', { type: 'button', class: 'step', 'aria-label': label }, symbol);
    button.addEventListener('click', () => choose(Number(input.value) + change));
    return button;
  };
  const choose = (quantity: number): void => {
    const isValid = Number.isInteger(quantity) && quantity >= min && quantity <= max;
    error.textContent = isValid ? '' : filled(texts.quantityWrong, { min, max });
    input.setAttribute('aria-invalid', String(!isValid));
    if (!isValid) return;
    input.value = String(quantity);
    onQuantity(line, quantity);
  };
  input.addEventListener('change', () => choose(Number(input.value)));
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') choose(Number(input.value));
  });
  input.setAttribute('aria-describedby', error.id);
  return element('div', {}, element('div', { class: 'stepper' }, step(-1), input, step(1)), error);
}

function updateRow(row: Element, line: Line, currency: string): void {
  const { quantity, unit_amount, quantity_min: min, quantity_max: max } = line;
  const set = (selector: string, text: string): void => {
    const target = row.querySelector(selector);
    if (target) target.textContent = text;
  };
  set('.sum', money(line.total, currency));
  set('.each', quantity > 1 ? filled(texts.each, { amount: money(unit_amount, currency) }) : '');
  set('.quantity', quantity > 1 ? filled(texts.quantityFixed, { quantity }) : '');
  const input = row.querySelector<HTMLInputElement>('.count');
  if (input && document.activeElement !== input) input.value = String(quantity);
  const [less, more] = row.querySelectorAll<HTMLButtonElement>('.step');
  // Not `disabled`, which would take the focus away from the button that was just pressed.
  less?.setAttribute('aria-disabled', String(quantity <= min));
  more?.setAttribute('aria-disabled', String(quantity >= max));
}

export function showTotals({ plan }: Session, quote: Quote): void {
  const { currency, subtotal, discount, total, coupon } = quote;
  const rows: [label: string, value: string, kind?: string][] = [];
  const setupFee = plan?.one_time_amount ?? 0;
  if (discount > 0 || setupFee > 0) rows.push([texts.subtotal, money(subtotal - setupFee, currency)]);
  if (setupFee > 0) rows.push([texts.setupFee, money(setupFee, currency)]);
  if (discount > 0 && coupon)
    rows.push([filled(texts.discount, { code: coupon.code }), money(-discount, currency), 'discount']);
  rows.push([plan ? texts.totalToday : texts.total, money(total, currency), 'total']);
  byId('totals').replaceChildren(
    ...rows.map(([label, value, kind]) =>
      element('div', { class: kind ?? '' }, element('dt', {}, label), element('dd', {}, value)),
    ),
  );
  byId('amount').textContent = money(plan && plan.billing_cycles !== 1 ? plan.amount : total, currency);
  setText('period', plan && plan.billing_cycles !== 1 ? periodOf(plan) : null);
}

/** Without lines: only what was paid, or nothing. */
export function showResultTotal({ result }: Session): void {
  byId('amount').textContent = result ? money(result.total, result.currency) : '';
}

/** On a phone the details fold away; on a wide screen they are always visible. */
export function prepareFold(): void {
  const button = byId('fold');
  button.addEventListener('click', () => {
    const isOpen = byId('details').classList.toggle('open');
    button.setAttribute('aria-expanded', String(isOpen));
  });
}
