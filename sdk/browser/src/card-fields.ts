import {
  type BrandRule,
  checkCvc,
  checkExpiry,
  checkNumber,
  digitsOf,
  expiryDigits,
  formatExpiry,
  formatNumber,
  longestFor,
  readExpiry,
  ruleFor,
} from './cards.ts';
import { createField, elementById, type Field } from './field.ts';
import type { CardState, CardTexts, ErrorDetails, FieldName, ToFrame, TokenOptions, ToPage } from './svc.ts';
import { englishTexts } from './texts.ts';
import { applyTheme } from './theme.ts';
import { emptyError, requestToken } from './token-request.ts';

/** The code inside the frame. Of what is typed here, the page around it learns the brand and, in the end, a token. */

type Start = Extract<ToFrame, { type: 'svc:start' }>;

const retryAfterFallbackSeconds = 10;
const longestCvc = 4;

const apiFields: Record<string, FieldName> = {
  'card.number': 'number',
  'card.exp_month': 'expiry',
  'card.exp_year': 'expiry',
  'card.cvc': 'cvc',
};

const apiNames: Record<FieldName, string> = { number: 'card.number', expiry: 'card.exp_month', cvc: 'card.cvc' };

function run(start: Start, port: MessagePort): void {
  const { publishableKey, dashboard } = start;
  const live = dashboard ? dashboard.live === true : publishableKey.startsWith('svc_live_');
  const texts: CardTexts = { ...englishTexts, ...start.texts };
  const form = elementById('form');
  let rule = ruleFor('', live);
  let lastState = '';

  const number = createField(
    'number',
    {
      digits: (text) => digitsOf(text, longestFor(ruleFor(digitsOf(text), live))),
      format: (digits) => formatNumber(digits, ruleFor(digits, live)),
    },
    (typed) => {
      setBrand(ruleFor(number.digits(), live));
      if (typed && number.digits().length === rule.usualLength) moveOn(number, expiry);
      reportState();
    },
  );
  const expiry = createField('expiry', { digits: expiryDigits, format: formatExpiry }, (typed) => {
    if (typed) moveOn(expiry, cvc);
    reportState();
  });
  const cvc = createField(
    'cvc',
    {
      digits: (text) => digitsOf(text, longestCvc),
      format: (digits) => digits.slice(0, Math.max(...rule.cvcLengths)),
    },
    () => reportState(),
  );
  const fields: readonly Field[] = [number, expiry, cvc];

  function send(message: ToPage): void {
    port.postMessage(message);
  }

  function problemOf(field: Field): keyof CardTexts | undefined {
    if (field === number) return checkNumber(number.digits(), live);
    if (field === cvc) return checkCvc(cvc.digits(), rule);
    const now = new Date();
    return checkExpiry(expiry.digits(), { year: now.getFullYear(), month: now.getMonth() + 1 });
  }

  function check(field: Field): void {
    const problem = problemOf(field);
    field.showError(problem && texts[problem]);
  }

  function moveOn(from: Field, to: Field): void {
    if (from.isAtEnd() && document.activeElement === from.input && !problemOf(from)) to.input.focus();
  }

  function setBrand(next: BrandRule): void {
    rule = next;
    const icon = elementById('brand');
    icon.setAttribute('aria-label', rule.name);
    icon.setAttribute('aria-hidden', String(rule.name === ''));
    icon.firstElementChild?.setAttribute('href', `#brand-${rule.brand}`);
    cvc.input.placeholder = rule.brand === 'amex' ? '1234' : '123';
  }

  function reportState(): void {
    const errors: Partial<Record<FieldName, string>> = {};
    for (const field of fields) {
      const error = field.error();
      if (error) errors[field.name] = error;
    }
    const state: CardState = {
      complete: fields.every((field) => !problemOf(field)),
      empty: fields.every((field) => field.input.value === ''),
      brand: rule.brand,
      errors,
    };
    const text = JSON.stringify(state);
    if (text === lastState) return;
    lastState = text;
    send({ type: 'change', state });
  }

  function showGeneralError(text: string | undefined): void {
    elementById('general-error').hidden = text === undefined;
    elementById('general-error-text').textContent = text ?? '';
  }

  /** All problems at once, the cursor in the first of them. */
  function localError(): ErrorDetails | undefined {
    fields.forEach(check);
    const wrong = fields.filter((field) => field.error());
    const [first] = wrong;
    if (!first) return undefined;
    first.input.focus();
    return {
      ...emptyError,
      code: 'validation_error',
      message: wrong.length === 1 ? (first.error() ?? '') : `${wrong.length} fields are invalid.`,
      param: apiNames[first.name],
      field_errors: wrong.map((field) => ({
        field: apiNames[field.name],
        code: field.input.value === '' ? 'required_field' : 'invalid_value',
        message: field.error() ?? '',
      })),
    };
  }

  function showApiError(error: ErrorDetails, status: number): void {
    const wrong = fields.filter((field) => {
      const found = error.field_errors.find((one) => apiFields[one.field] === field.name);
      if (found) field.showError(start.texts[`${field.name}Invalid`] ?? found.message);
      return found;
    });
    if (wrong[0]) return wrong[0].input.focus();
    return showGeneralError(generalText(error, status));
  }

  function generalText(error: ErrorDetails, status: number): string {
    if (status === 429) {
      return texts.tooManyRequests.replace('{seconds}', String(error.retry_after ?? retryAfterFallbackSeconds));
    }
    if (status === 401 || status === 403) return texts.notAvailable;
    return status >= 400 && status < 500 ? texts.refused : texts.connection;
  }

  async function tokenize(call: number, options: TokenOptions): Promise<void> {
    showGeneralError(undefined);
    const problem = localError();
    reportState();
    if (problem) return send({ type: 'error', call, error: problem });
    const { month, year } = readExpiry(expiry.digits());
    const card = {
      number: number.digits(),
      exp_month: String(month).padStart(2, '0'),
      exp_year: String(year),
      cvc: cvc.digits(),
    };
    setBusy(true);
    const outcome = await requestToken(dashboard ?? publishableKey, card, options);
    setBusy(false);
    if ('token' in outcome) return send({ type: 'token', call, token: outcome.token });
    showApiError(outcome.error, outcome.status);
    reportState();
    return send({ type: 'error', call, error: outcome.error });
  }

  function setBusy(busy: boolean): void {
    form.setAttribute('aria-busy', String(busy));
    for (const { input } of fields) input.readOnly = busy;
  }

  function clear(): void {
    for (const field of fields) field.clear();
    showGeneralError(undefined);
    setBrand(ruleFor('', live));
    reportState();
  }

  function onPageMessage(message: ToFrame): void {
    if (message.type === 'tokenize') void tokenize(message.call, message.options);
    else if (message.type === 'focus') elementById(message.field).focus();
    else if (message.type === 'clear') clear();
  }

  function listenTo(field: Field, previous: Field | undefined): void {
    field.input.addEventListener('blur', () => {
      // A field that was only passed is not wrong yet.
      if (field.input.value !== '' && !field.error()) check(field);
      reportState();
    });
    field.input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        send({ type: 'enter' });
      } else if (event.key === 'Backspace' && field.input.value === '' && previous) {
        event.preventDefault();
        previous.input.focus();
        previous.input.setSelectionRange(previous.input.value.length, previous.input.value.length);
      }
    });
  }

  document.title = texts.title;
  document.documentElement.lang = start.language;
  document.documentElement.dir = start.direction === 'rtl' ? 'rtl' : 'ltr';
  applyTheme(start.theme);
  number.label(texts.number, texts.numberPlaceholder);
  expiry.label(texts.expiry, texts.expiryPlaceholder);
  cvc.label(texts.cvc, '');
  elementById('group').setAttribute('aria-label', texts.title);
  fields.forEach((field, index) => listenTo(field, fields[index - 1]));
  form.addEventListener('submit', (event) => event.preventDefault());
  clear();
  form.hidden = false;

  port.addEventListener('message', ({ data }: MessageEvent<ToFrame>) => onPageMessage(data));
  port.start();
  new ResizeObserver(() => {
    send({ type: 'height', heightPx: Math.ceil(document.body.getBoundingClientRect().height) });
  }).observe(document.body);
  send({ type: 'ready' });
}

/** Talks to the page around it, and only if that has the origin which the frame was opened for. */
function waitForPage(): void {
  const origin = new URLSearchParams(location.hash.slice(1)).get('origin');
  if (!origin || origin === '*' || window.parent === window) return;
  const onMessage = (event: MessageEvent<ToFrame | null>): void => {
    const [port] = event.ports;
    if (event.source !== window.parent || event.origin !== origin) return;
    if (event.data?.type !== 'svc:start' || !port) return;
    // The session of the dashboard is for its own pages.
    if (event.data.dashboard && origin !== location.origin) return;
    window.removeEventListener('message', onMessage);
    run(event.data, port);
  };
  window.addEventListener('message', onMessage);
  const loaded: ToPage = { type: 'svc:loaded' };
  window.parent.postMessage(loaded, origin);
}

waitForPage();
