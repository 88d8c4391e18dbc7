import { byId, filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { inWords } from '../shared/page-texts.ts';
import { type Problem, request } from '../shared/requests.ts';
import type { Line, Payment, Quote, Session } from './session.ts';
import { texts } from './texts.ts';

/** What the customer chose: quantities and a promotion code. Each change is priced by the service. */

const quoteDelayMs = 300;

export interface Cart {
  quote(): Quote;
  /** The choices as the service gets them. */
  choices(): Pick<Payment, 'quantities' | 'coupon_code'>;
  isUpdating(): boolean;
  setQuantity(line: Line, quantity: number): void;
  /** The code that the customer entered, not one that the merchant applied. */
  ownCode(): string | undefined;
  /** Takes the prices from the answer to a payment, which is for the same choices. */
  replace(session: Session): void;
  /** Asks for the prices again. */
  refresh(): Promise<void>;
}

export function createCart(url: string, session: Session, onChange: () => void): Cart {
  let quote = pricesOf(session);
  let quantities = new Map(session.lines.map((line) => [line.product_id, line.quantity]));
  let code: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  let isUpdating = false;

  const isAdjustable = session.lines.some((line) => line.quantity_max > line.quantity_min);
  const choicesWith = (couponCode: string | undefined): Pick<Payment, 'quantities' | 'coupon_code'> => ({
    ...(isAdjustable && {
      quantities: [...quantities].map(([product_id, quantity]) => ({ product_id, quantity })),
    }),
    ...(couponCode !== undefined && { coupon_code: couponCode }),
  });

  /** Answers to earlier questions are ignored. Returns the problem, if there is one. */
  async function update(couponCode: string | undefined): Promise<string | undefined> {
    latest += 1;
    const own = latest;
    isUpdating = true;
    onChange();
    const answer = await request<Quote>(`${url}/quote`, choicesWith(couponCode));
    if (own !== latest) return undefined;
    isUpdating = false;
    if (answer.kind === 'done') {
      quote = answer.body;
      code = couponCode;
    }
    quantities = new Map(quote.lines.map((line) => [line.product_id, line.quantity]));
    onChange();
    if (answer.kind === 'done') return undefined;
    return answer.kind === 'lost' ? texts.totalFailed : problemText(answer.problem);
  }

  async function updateQuantities(): Promise<void> {
    const problem = await update(code);
    if (!isUpdating) announce(problem ?? filled(texts.totalUpdated, { total: totalText() }));
  }

  const totalText = (): string => money(quote.total, quote.currency);

  async function apply(couponCode: string | undefined): Promise<boolean> {
    clearTimeout(timer);
    const problem = await update(couponCode);
    showCouponError(problem);
    if (problem) return false;
    const applied = { code: couponCode ?? '', total: totalText() };
    announce(filled(couponCode ? texts.couponApplied : texts.totalUpdated, applied));
    return true;
  }

  prepareCoupon(apply);
  return {
    quote: () => quote,
    choices: () => choicesWith(code),
    isUpdating: () => isUpdating,
    setQuantity(line, quantity) {
      if (quantities.get(line.product_id) === quantity) return;
      quantities.set(line.product_id, quantity);
      isUpdating = true;
      onChange();
      clearTimeout(timer);
      timer = setTimeout(() => void updateQuantities(), quoteDelayMs);
    },
    ownCode: () => code,
    replace(next) {
      if (next.currency === null) return;
      quote = pricesOf(next);
      if (code !== next.coupon?.code) code = undefined;
      quantities = new Map(next.lines.map((line) => [line.product_id, line.quantity]));
    },
    refresh: async () => void (await update(code)),
  };
}

const pricesOf = (session: Session): Quote => ({ ...session, currency: session.currency ?? '' });

/** The text about a field without the name that the field has in the API. */
function problemText({ param, code, message, field_errors }: Problem): string {
  if (param === 'coupon_code' && code === 'resource_in_use') return texts.couponBusy;
  const text = field_errors[0]?.message ?? message;
  // The service gives the reason of a code in the language of the page.
  return param === 'coupon_code' ? text : inWords(text, texts.totalFailed);
}

/** For screen readers: what changed elsewhere on the page. */
export function announce(text: string): void {
  byId('announcement').textContent = text;
}

function showCouponError(text: string | undefined): void {
  const input = byId('coupon');
  byId('coupon-error').textContent = text ?? '';
  byId('coupon-error').hidden = !text;
  input.setAttribute('aria-invalid', String(Boolean(text)));
  if (text) input.focus();
}

function prepareCoupon(apply: (code: string | undefined) => Promise<boolean>): void {
  const input = byId('coupon', HTMLInputElement);
  const form = byId('coupon-form');
  const add = byId('coupon-add');
  add.addEventListener('click', () => {
    form.hidden = false;
    add.hidden = true;
    input.focus();
  });
  const submit = async (): Promise<void> => {
    const code = input.value.trim();
    if (!code) return showCouponError(texts.couponMissing);
    if (await apply(code)) input.value = '';
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });
  input.addEventListener('input', () => {
    byId('coupon-error').hidden = true;
    input.setAttribute('aria-invalid', 'false');
  });
  byId('coupon-remove').addEventListener('click', () => {
    void apply(undefined).then(() => byId('coupon-add').focus());
  });
}

/** A code that the merchant applied can be replaced by another, but not removed. */
export function showCoupon(isOpen: boolean, { coupon }: Quote, ownCode: string | undefined): void {
  byId('coupon-area').hidden = !isOpen && !coupon;
  byId('coupon-chip').hidden = !coupon;
  byId('coupon-code').textContent = coupon?.code ?? '';
  const remove = byId('coupon-remove');
  remove.hidden = !isOpen || ownCode === undefined;
  remove.setAttribute('aria-label', filled(texts.couponRemove, { code: coupon?.code ?? '' }));
  const form = byId('coupon-form');
  if (!isOpen || ownCode !== undefined) form.hidden = true;
  byId('coupon-add').hidden = !isOpen || ownCode !== undefined || !form.hidden;
}
