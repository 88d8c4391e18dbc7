import { type CardForm, createCardForm } from './card-form.ts';
import { elementById, type Field } from './field.ts';
import type { ToFrame, ToPage } from './messages.ts';
import type { CardTexts, ErrorDetails, TokenOptions } from './svc.ts';
import { englishTexts } from './texts.ts';
import { applyTheme } from './theme.ts';
import { requestToken } from './token-request.ts';

/** The code inside the iframe. The page around it only gets the brand and, at the end, a token. */

type Start = Extract<ToFrame, { type: 'svc:start' }>;

const retryAfterFallbackSeconds = 10;

function run(start: Start, port: MessagePort): void {
  const credential = start.link ?? start.dashboard ?? start.publishableKey;
  const live = typeof credential === 'string' ? !credential.startsWith('svc_test_') : credential.live === true;
  const ownTexts: Partial<CardTexts> = { ...servedTexts(), ...start.texts };
  const texts: CardTexts = { ...englishTexts, ...ownTexts };
  const element = elementById('form');
  const form = createCardForm(live, texts, () => reportState());
  let lastState = '';

  const send = (message: ToPage): void => port.postMessage(message);

  function reportState(): void {
    const state = form.state();
    const text = JSON.stringify(state);
    if (text === lastState) return;
    lastState = text;
    send({ type: 'change', state });
  }

  async function tokenize(call: number, options: TokenOptions): Promise<void> {
    showGeneralError(undefined);
    const problem = form.checkAll();
    reportState();
    if (problem) return send({ type: 'error', call, error: problem });
    setBusy(element, form.fields, true);
    const outcome = await requestToken(credential, form.card(), options);
    setBusy(element, form.fields, false);
    if ('token' in outcome) return send({ type: 'token', call, token: outcome.token });
    const { error, status } = outcome;
    if (!form.showProblems(error.field_errors, ownTexts)) showGeneralError(generalText(texts, error, status));
    reportState();
    return send({ type: 'error', call, error });
  }

  function clear(): void {
    form.clear();
    showGeneralError(undefined);
    reportState();
  }

  function onPageMessage(message: ToFrame): void {
    if (message.type === 'tokenize') void tokenize(message.call, message.options);
    else if (message.type === 'focus') elementById(message.field).focus();
    else if (message.type === 'clear') clear();
  }

  presentPage(start, texts, form);
  listen(form, reportState, () => send({ type: 'enter' }));
  element.addEventListener('submit', (event) => event.preventDefault());
  clear();
  element.hidden = false;

  port.addEventListener('message', ({ data }: MessageEvent<ToFrame>) => onPageMessage(data));
  port.start();
  new ResizeObserver(() => {
    send({ type: 'height', heightPx: Math.ceil(document.body.getBoundingClientRect().height) });
  }).observe(document.body);
  send({ type: 'ready', title: texts.title });
}

/** The texts that the document has in the language of its address; none if it is English. */
const servedTexts = (): Partial<CardTexts> => JSON.parse(document.body.dataset.texts ?? '{}') as Partial<CardTexts>;

function presentPage(start: Start, texts: CardTexts, { fields }: CardForm): void {
  document.title = texts.title;
  document.documentElement.lang = start.language;
  document.documentElement.dir = start.direction === 'rtl' ? 'rtl' : 'ltr';
  applyTheme(start.theme);
  const placeholders = { number: texts.numberPlaceholder, expiry: texts.expiryPlaceholder, cvc: '' };
  for (const field of fields) field.label(texts[field.name], placeholders[field.name]);
  elementById('group').setAttribute('aria-label', texts.title);
}

function listen({ fields, check }: CardForm, reportState: () => void, onEnter: () => void): void {
  for (const [index, field] of fields.entries()) {
    field.input.addEventListener('blur', () => {
      // An empty field that the user only tabbed through is not an error yet.
      if (field.input.value !== '' && !field.error()) check(field);
      reportState();
    });
    field.input.addEventListener('keydown', (event) => {
      const previous = fields[index - 1];
      if (event.key === 'Enter') {
        event.preventDefault();
        onEnter();
      } else if (event.key === 'Backspace' && field.input.value === '' && previous) {
        event.preventDefault();
        previous.input.focus();
        previous.input.setSelectionRange(previous.input.value.length, previous.input.value.length);
      }
    });
  }
}

function setBusy(form: HTMLElement, fields: readonly Field[], busy: boolean): void {
  form.setAttribute('aria-busy', String(busy));
  for (const { input } of fields) input.readOnly = busy;
}

function showGeneralError(text: string | undefined): void {
  elementById('general-error').hidden = text === undefined;
  elementById('general-error-text').textContent = text ?? '';
}

function generalText(texts: CardTexts, error: ErrorDetails, status: number): string {
  if (status === 429) {
    return texts.tooManyRequests.replace('{seconds}', String(error.retry_after ?? retryAfterFallbackSeconds));
  }
  if (status === 401 || status === 403) return texts.notAvailable;
  return status >= 400 && status < 500 ? texts.refused : texts.connection;
}

/** Communicates only with the page whose origin the iframe was opened for. */
function waitForPage(): void {
  const origin = new URLSearchParams(location.hash.slice(1)).get('origin');
  if (!origin || origin === '*' || window.parent === window) return;
  const onMessage = (event: MessageEvent<ToFrame | null>): void => {
    const [port] = event.ports;
    if (event.source !== window.parent || event.origin !== origin) return;
    if (event.data?.type !== 'svc:start' || !port) return;
    // Sessions and links work only on the pages of the service.
    if ((event.data.dashboard || event.data.link) && origin !== location.origin) return;
    window.removeEventListener('message', onMessage);
    run(event.data, port);
  };
  window.addEventListener('message', onMessage);
  const loaded: ToPage = { type: 'svc:loaded' };
  window.parent.postMessage(loaded, origin);
}

waitForPage();
