/** What a merchant's page loads. The card itself is typed into a frame of the service and never reaches this page. */

export interface SvcOptions {
  /** Address of the service. Needed unless this script was loaded from the service itself. */
  readonly baseUrl?: string;
}

/** The dashboard has no key; its pages, and no others, capture cards with the session of who is signed in. */
export interface DashboardSession {
  /** The company. */
  readonly session: string;
  readonly live?: boolean;
}

/** A publishable key. */
export type Credential = string | DashboardSession;

export interface ThemeColors {
  readonly text?: string;
  readonly background?: string;
  readonly border?: string;
  readonly focus?: string;
  readonly error?: string;
  /** Also used for the labels. */
  readonly placeholder?: string;
}

export interface Theme {
  /** `auto` follows the reader's system. Default: `light`. */
  readonly mode?: 'light' | 'dark' | 'auto';
  readonly colors?: ThemeColors;
  /** Fonts of the reader's device; the frame loads no web fonts. */
  readonly fontFamily?: string;
  readonly fontSize?: string;
  readonly radius?: string;
}

/** Every text that the fields can show. */
export interface CardTexts {
  /** Name of the fields as a whole, for screen readers. */
  readonly title: string;
  readonly number: string;
  readonly numberPlaceholder: string;
  readonly numberRequired: string;
  readonly numberIncomplete: string;
  readonly numberInvalid: string;
  readonly expiry: string;
  readonly expiryPlaceholder: string;
  readonly expiryRequired: string;
  readonly expiryIncomplete: string;
  readonly expiryInvalid: string;
  readonly expiryPast: string;
  readonly cvc: string;
  readonly cvcRequired: string;
  readonly cvcIncomplete: string;
  readonly cvcInvalid: string;
  /** `{seconds}` is replaced by the time to wait. */
  readonly tooManyRequests: string;
  readonly notAvailable: string;
  readonly refused: string;
  readonly connection: string;
}

export type FieldName = 'number' | 'expiry' | 'cvc';

export interface CardState {
  readonly complete: boolean;
  readonly empty: boolean;
  /** `visa`, `mastercard`, …; `unknown` until the number tells. */
  readonly brand: string;
  /** What the fields show at the moment. */
  readonly errors: Readonly<Partial<Record<FieldName, string>>>;
}

export interface CardFieldsOptions {
  readonly theme?: Theme;
  /** Texts in another language, or other words. What is left out stays English. */
  readonly texts?: Partial<CardTexts>;
  /** Language of `texts`, such as `fr`. The writing direction is that of the element they are mounted in. */
  readonly language?: string;
  readonly onReady?: () => void;
  readonly onChange?: (state: CardState) => void;
}

export interface BillingDetails {
  readonly name?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly address?: {
    readonly line1?: string;
    readonly line2?: string;
    readonly city?: string;
    readonly state?: string;
    readonly postal_code?: string;
    readonly country?: string;
  };
}

export interface TokenOptions {
  readonly billing_details?: BillingDetails;
}

export interface CardToken {
  readonly id: string;
  readonly card: {
    readonly brand: string;
    readonly last4: string;
    readonly exp_month: number;
    readonly exp_year: number;
  };
  readonly expires_at: string;
}

export interface FieldError {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export interface ErrorDetails {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly field_errors: readonly FieldError[];
  readonly request_id: string | null;
  /** Seconds to wait, when the service said so. */
  readonly retry_after: number | null;
}

/** Why there is no token. The fields have already told the reader; this is for the page. */
export class SvcError extends Error implements ErrorDetails {
  readonly code: string;
  readonly param: string | null;
  readonly field_errors: readonly FieldError[];
  readonly request_id: string | null;
  readonly retry_after: number | null;

  constructor(details: ErrorDetails) {
    super(details.message);
    this.name = 'SvcError';
    this.code = details.code;
    this.param = details.param;
    this.field_errors = details.field_errors;
    this.request_id = details.request_id;
    this.retry_after = details.retry_after;
  }
}

export interface CardFields {
  /** Shows the fields in an element, given itself or by a selector. */
  mount(target: string | Element): CardFields;
  /** Exchanges the card for a single-use token. A call during another one gets that one's result. */
  createToken(options?: TokenOptions): Promise<CardToken>;
  focus(field?: FieldName): void;
  clear(): void;
  unmount(): void;
}

export interface SvcClient {
  cardFields(options?: CardFieldsOptions): CardFields;
}

/** @internal What the page tells the frame. The first travels by `postMessage`, the others by the port sent with it. */
export type ToFrame =
  | {
      readonly type: 'svc:start';
      readonly publishableKey: string;
      readonly dashboard?: DashboardSession;
      readonly theme: Theme;
      readonly texts: Partial<CardTexts>;
      readonly language: string;
      readonly direction: string;
    }
  | { readonly type: 'tokenize'; readonly call: number; readonly options: TokenOptions }
  | { readonly type: 'focus'; readonly field: FieldName }
  | { readonly type: 'clear' };

/** @internal What the frame tells the page. */
export type ToPage =
  | { readonly type: 'svc:loaded' }
  | { readonly type: 'ready' }
  | { readonly type: 'height'; readonly heightPx: number }
  | { readonly type: 'change'; readonly state: CardState }
  | { readonly type: 'enter' }
  | { readonly type: 'token'; readonly call: number; readonly token: CardToken }
  | { readonly type: 'error'; readonly call: number; readonly error: ErrorDetails };

const loadTimeoutMs = 20_000;
const firstHeightPx = 94;
const heightPxMax = 1_000;
const pressEvents = ['pointerdown', 'pointerup', 'pointercancel'];
/** The frame is larger than it looks by this much on each side, so that a focus ring is not cut off. */
const ringPx = 4;

const scriptUrl = import.meta.url;

/** Starts the SDK with a publishable key. */
export function Svc(credential: Credential, options: SvcOptions = {}): SvcClient {
  if (typeof credential === 'string') checkKey(credential);
  const serviceUrl = serviceUrlOf(options);
  return { cardFields: (fieldOptions = {}) => createCardFields(credential, serviceUrl, fieldOptions) };
}

function checkKey(publishableKey: string): void {
  if (/_sk_/.test(publishableKey)) throw new Error('This is a secret key. A page must only have a publishable key.');
  if (!/^svc_\w+_pk_/.test(publishableKey)) throw new Error('Pass a publishable key: svc_test_pk_… or svc_live_pk_….');
}

function serviceUrlOf({ baseUrl }: SvcOptions): URL {
  if (baseUrl) return new URL(`${baseUrl.replace(/\/+$/, '')}/`);
  // A bundler gives this code another name, and then its address says nothing about the service.
  if (/\/svc\.m?js([?#]|$)/.test(scriptUrl)) return new URL('./', scriptUrl);
  throw new Error('Pass the address of the service: Svc(key, { baseUrl }).');
}

function failure(code: string, message: string): SvcError {
  return new SvcError({ code, message, param: null, field_errors: [], request_id: null, retry_after: null });
}

interface Call {
  readonly promise: Promise<CardToken>;
  readonly resolve: (token: CardToken) => void;
  readonly reject: (error: SvcError) => void;
}

function createCardFields(credential: Credential, serviceUrl: URL, options: CardFieldsOptions): CardFields {
  let frame: HTMLIFrameElement | undefined;
  let port: MessagePort | undefined;
  let call: Call | undefined;
  let callNumber = 0;
  let loadTimer: ReturnType<typeof setTimeout> | undefined;
  let heightPx = firstHeightPx;
  let pressed = false;
  /** What was asked before the frame could hear it. */
  let waiting: ToFrame[] = [];

  function send(message: ToFrame): void {
    if (port) port.postMessage(message);
    else if (frame) waiting.push(message);
  }

  function settle(outcome: CardToken | SvcError): void {
    const settled = call;
    call = undefined;
    if (outcome instanceof SvcError) settled?.reject(outcome);
    else settled?.resolve(outcome);
  }

  /** Only our own frame, showing a page of the service, may start a conversation. */
  function onWindowMessage(event: MessageEvent<ToPage | null>): void {
    if (!frame || event.source !== frame.contentWindow || event.origin !== serviceUrl.origin) return;
    if (event.data?.type === 'svc:loaded') startFrame(frame);
  }

  /** Runs again when the frame was loaded anew, as it is when the page moves it. */
  function startFrame(target: HTMLIFrameElement): void {
    if (port) settle(failure('fields_reloaded', 'The card fields were loaded anew; the card has to be typed again.'));
    port?.close();
    const channel = new MessageChannel();
    port = channel.port1;
    port.addEventListener('message', ({ data }: MessageEvent<ToPage>) => onFrameMessage(data));
    port.start();
    const { theme = {}, texts = {}, language = 'en' } = options;
    const { direction } = getComputedStyle(target);
    const identity =
      typeof credential === 'string' ? { publishableKey: credential } : { publishableKey: '', dashboard: credential };
    const start: ToFrame = { type: 'svc:start', ...identity, theme, texts, language, direction };
    target.contentWindow?.postMessage(start, serviceUrl.origin, [channel.port2]);
    for (const message of waiting.splice(0)) send(message);
  }

  function onFrameMessage(message: ToPage): void {
    if (message.type === 'ready') onReady();
    else if (message.type === 'height') {
      heightPx = Math.min(Math.max(message.heightPx, 0), heightPxMax);
      setHeight();
    } else if (message.type === 'change') options.onChange?.(message.state);
    else if (message.type === 'enter') submitFormAround(frame);
    else if (message.type === 'token' && message.call === callNumber) settle(message.token);
    else if (message.type === 'error' && message.call === callNumber) settle(new SvcError(message.error));
  }

  function onReady(): void {
    clearTimeout(loadTimer);
    options.onReady?.();
  }

  function startCall(): Call {
    clearTimeout(loadTimer);
    const notLoaded = failure('fields_not_loaded', `The card fields did not load from ${serviceUrl.origin}.`);
    if (!port) loadTimer = setTimeout(() => settle(notLoaded), loadTimeoutMs);
    callNumber += 1;
    let resolve: Call['resolve'] = () => undefined;
    let reject: Call['reject'] = () => undefined;
    const promise = new Promise<CardToken>((onToken, onError) => {
      resolve = onToken;
      reject = onError;
    });
    return { promise, resolve, reject };
  }

  /** Leaving a field by pressing a button must not move that button away before it is let go, or it gets no click. */
  function setHeight(): void {
    if (!pressed) frame?.style.setProperty('height', `${heightPx}px`, 'important');
  }

  function onPress({ type }: Event): void {
    pressed = type === 'pointerdown';
    // After the click.
    if (!pressed) setTimeout(setHeight);
  }

  const fields: CardFields = {
    mount(target) {
      if (frame) throw new Error('These fields are mounted already; unmount them first.');
      const container = typeof target === 'string' ? document.querySelector(target) : target;
      if (!container) throw new Error(`There is no element to mount the fields in: ${JSON.stringify(target)}.`);
      // The frame talks to this origin and to no other, so there has to be one.
      if (location.origin === 'null') throw new Error('The fields need a page that is served over http or https.');
      frame = createFrame(serviceUrl, options);
      heightPx = firstHeightPx;
      pressed = false;
      addEventListener('message', onWindowMessage);
      for (const type of pressEvents) addEventListener(type, onPress, true);
      container.append(frame);
      return fields;
    },
    createToken(tokenOptions = {}) {
      if (!frame) return Promise.reject(failure('not_mounted', 'Mount the fields before asking for a token.'));
      if (call) return call.promise;
      call = startCall();
      send({ type: 'tokenize', call: callNumber, options: tokenOptions });
      return call.promise;
    },
    focus(field = 'number') {
      frame?.focus();
      send({ type: 'focus', field });
    },
    clear() {
      send({ type: 'clear' });
    },
    unmount() {
      removeEventListener('message', onWindowMessage);
      for (const type of pressEvents) removeEventListener(type, onPress, true);
      clearTimeout(loadTimer);
      port?.close();
      frame?.remove();
      frame = undefined;
      port = undefined;
      waiting = [];
      settle(failure('unmounted', 'The card fields were removed from the page.'));
    },
  };
  return fields;
}

function createFrame(serviceUrl: URL, { theme, texts }: CardFieldsOptions): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.title = texts?.title ?? 'Card details';
  frame.referrerPolicy = 'no-referrer';
  frame.src = `${new URL('card-fields', serviceUrl).href}#origin=${encodeURIComponent(location.origin)}`;
  const mode = theme?.mode ?? 'light';
  const style = {
    display: 'block',
    border: '0',
    width: `calc(100% + ${2 * ringPx}px)`,
    'max-width': 'none',
    height: `${firstHeightPx}px`,
    margin: `-${ringPx}px`,
    background: 'transparent',
    // A frame whose scheme differs from that of its document is given an opaque background.
    'color-scheme': mode === 'auto' ? 'light dark' : mode,
  };
  for (const [name, value] of Object.entries(style)) frame.style.setProperty(name, value, 'important');
  return frame;
}

/** What Enter does in any other input: it presses the form's button. */
function submitFormAround(frame: HTMLIFrameElement | undefined): void {
  const form = frame?.closest('form');
  const button = form?.querySelector<HTMLElement>('button:not([type=button], [type=reset]), input[type=submit]');
  if (button) button.click();
  else form?.requestSubmit();
}
