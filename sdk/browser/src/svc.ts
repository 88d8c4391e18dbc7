import {
  type Conversation,
  converse,
  createFrame,
  followHeight,
  type Height,
  type Listener,
  submitFormAround,
} from './frame.ts';
import type { Identity, ToFrame, ToPage } from './messages.ts';

/** The script for merchant pages. Customers type the card into an iframe of the service, and it never reaches the page. */

export interface SvcOptions {
  /** URL of the service. Required unless this script was loaded from the service itself. */
  readonly baseUrl?: string;
}

/** Only for the dashboard, which captures cards with the session instead of a key. */
export interface DashboardSession {
  /** The company. */
  readonly session: string;
  readonly live?: boolean;
}

/** Only for the pages of the service itself, which have a link instead of a key. */
export interface PageLink {
  readonly page: 'checkout' | 'customer';
  /** The token in the link. */
  readonly token: string;
  readonly live: boolean;
}

/** A publishable key. */
export type Credential = string | DashboardSession | PageLink;

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
  /** `auto` follows the system setting. Default: `light`. */
  readonly mode?: 'light' | 'dark' | 'auto';
  readonly colors?: ThemeColors;
  /** Fonts of the device. The iframe loads none from other servers. */
  readonly fontFamily?: string;
  readonly fontSize?: string;
  readonly radius?: string;
}

/** Every text of the fields. */
export interface CardTexts {
  /** Name of the group of fields, for screen readers. */
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
  /** `visa`, `mastercard`, …; `unknown` until the number identifies it. */
  readonly brand: string;
  /** The errors that the fields show. */
  readonly errors: Readonly<Partial<Record<FieldName, string>>>;
}

export interface CardFieldsOptions {
  readonly theme?: Theme;
  /** Texts of your own. Omitted texts are in `language`. */
  readonly texts?: Partial<CardTexts>;
  /**
   * For example `fr` or `pt-BR`. The service has texts in 13 languages; in others, pass `texts`, or they are English. The writing
   * direction follows the element around the fields.
   */
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
  /** Seconds to wait, if the service returned them. */
  readonly retry_after: number | null;
}

/** Why no token was created. The fields have already shown the error to the customer. */
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
  /** Shows the fields in an element or in the element of a selector. */
  mount(target: string | Element): CardFields;
  /** Creates a single-use token for the card. A second call before it resolves gets the same result. */
  createToken(options?: TokenOptions): Promise<CardToken>;
  focus(field?: FieldName): void;
  clear(): void;
  unmount(): void;
}

export interface SvcClient {
  cardFields(options?: CardFieldsOptions): CardFields;
}

const loadTimeoutMs = 20_000;
const scriptUrl = import.meta.url;

/** Starts the SDK with a publishable key. */
export function Svc(credential: Credential, options: SvcOptions = {}): SvcClient {
  if (typeof credential === 'string') checkKey(credential);
  const serviceUrl = serviceUrlOf(options);
  return { cardFields: (fieldOptions = {}) => createCardFields(credential, serviceUrl, fieldOptions) };
}

function checkKey(publishableKey: string): void {
  if (/_sk_/.test(publishableKey)) throw new Error('This is a secret key. Use a publishable key in a page.');
  if (!/^svc_\w+_pk_/.test(publishableKey)) throw new Error('Pass a publishable key: svc_test_pk_… or svc_live_pk_….');
}

function serviceUrlOf({ baseUrl }: SvcOptions): URL {
  if (baseUrl) return new URL(`${baseUrl.replace(/\/+$/, '')}/`);
  // With a bundler, the URL of this script is not a URL of the service.
  if (/\/svc\.m?js([?#]|$)/.test(scriptUrl)) return new URL('./', scriptUrl);
  throw new Error('Pass the URL of the service: Svc(key, { baseUrl }).');
}

function failure(code: string, message: string): SvcError {
  return new SvcError({ code, message, param: null, field_errors: [], request_id: null, retry_after: null });
}

/** The token that the page waits for: one at a time, and what comes for an earlier one is ignored. */
interface PendingToken {
  current(): Call | undefined;
  start(): Call;
  end(outcome: CardToken | SvcError, call?: number): void;
}

interface Call {
  readonly call: number;
  readonly promise: Promise<CardToken>;
  readonly end: (outcome: CardToken | SvcError) => void;
}

function createPendingToken(): PendingToken {
  let calls = 0;
  let running: Call | undefined;
  return {
    current: () => running,
    start() {
      calls += 1;
      let end: Call['end'] = () => undefined;
      const promise = new Promise<CardToken>((resolve, reject) => {
        end = (outcome) => (outcome instanceof SvcError ? reject(outcome) : resolve(outcome));
      });
      running = { call: calls, promise, end };
      return running;
    },
    end(outcome, call = calls) {
      if (call !== calls) return;
      const ended = running;
      running = undefined;
      ended?.end(outcome);
    },
  };
}

interface Mounted {
  readonly frame: HTMLIFrameElement;
  readonly height: Height;
  readonly conversation: Conversation;
}

function createCardFields(credential: Credential, serviceUrl: URL, options: CardFieldsOptions): CardFields {
  const token = createPendingToken();
  let mounted: Mounted | undefined;
  let loadTimer: ReturnType<typeof setTimeout> | undefined;

  function onMessage(message: ToPage): void {
    if (message.type === 'ready') {
      clearTimeout(loadTimer);
      if (mounted && message.title) mounted.frame.title = message.title;
      options.onReady?.();
    } else if (message.type === 'height') mounted?.height.set(message.heightPx);
    else if (message.type === 'change') options.onChange?.(message.state);
    else if (message.type === 'enter') submitFormAround(mounted?.frame);
    else if (message.type === 'token') token.end(message.token, message.call);
    else if (message.type === 'error') token.end(new SvcError(message.error), message.call);
  }

  const listener: Listener = {
    onMessage,
    onReload: () =>
      token.end(failure('fields_reloaded', 'The card fields were reloaded. Ask the customer to enter the card again.')),
  };

  const fields: CardFields = {
    mount(target) {
      if (mounted) throw new Error('The fields are already mounted. Unmount them first.');
      const container = containerOf(target);
      const frame = createFrame(serviceUrl, options);
      const start = (): ToFrame => startMessage(credential, options, frame);
      const conversation = converse(frame, serviceUrl.origin, start, listener);
      mounted = { frame, height: followHeight(frame), conversation };
      container.append(frame);
      return fields;
    },
    createToken(tokenOptions = {}) {
      if (!mounted) return Promise.reject(failure('not_mounted', 'Mount the fields before you create a token.'));
      const running = token.current();
      if (running) return running.promise;
      clearTimeout(loadTimer);
      const notLoaded = failure('fields_not_loaded', `The card fields did not load from ${serviceUrl.origin}.`);
      if (!mounted.conversation.isOpen()) loadTimer = setTimeout(() => token.end(notLoaded), loadTimeoutMs);
      const { call, promise } = token.start();
      mounted.conversation.send({ type: 'tokenize', call, options: tokenOptions });
      return promise;
    },
    focus(field = 'number') {
      mounted?.frame.focus();
      mounted?.conversation.send({ type: 'focus', field });
    },
    clear: () => mounted?.conversation.send({ type: 'clear' }),
    unmount() {
      clearTimeout(loadTimer);
      mounted?.conversation.close();
      mounted?.height.stop();
      mounted?.frame.remove();
      mounted = undefined;
      token.end(failure('unmounted', 'The card fields were removed from the page.'));
    },
  };
  return fields;
}

function containerOf(target: string | Element): Element {
  const container = typeof target === 'string' ? document.querySelector(target) : target;
  if (!container) throw new Error(`No element found to mount the fields in: ${JSON.stringify(target)}.`);
  // The iframe only communicates with this origin, so the page must have one.
  if (location.origin === 'null') throw new Error('The page must be served over http or https.');
  return container;
}

function startMessage(credential: Credential, options: CardFieldsOptions, frame: HTMLIFrameElement): ToFrame {
  const { theme = {}, texts = {}, language = 'en' } = options;
  const { direction } = getComputedStyle(frame);
  return { type: 'svc:start', ...identityOf(credential), theme, texts, language, direction };
}

/** A package that a merchant installed earlier sends these names too, so they stay. */
function identityOf(credential: Credential): Identity {
  if (typeof credential === 'string') return { publishableKey: credential };
  return { publishableKey: '', ...('page' in credential ? { link: credential } : { dashboard: credential }) };
}
