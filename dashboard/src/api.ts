import { apiVersion } from '../../sdk/node/src/generated/operations.ts';
import { errorText, fieldSentence } from './error-texts.ts';
import { signInAgain, stepUp } from './questions.ts';

/** Calls the service. The browser sends the session cookie; this adds the headers that a call needs. */

export interface FieldError {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly fieldErrors: readonly FieldError[];

  constructor(status: number, body: ErrorBody, fallback: string) {
    const { param, field_errors: listed = [] } = body;
    super(errorText(body.message ?? fallback, listed));
    this.name = 'ApiError';
    this.status = status;
    this.code = body.code ?? 'no_answer';
    this.requestId = body.request_id ?? null;
    const wrong = listed.length === 0 && param ? [{ field: param, code: this.code, message: this.message }] : listed;
    this.fieldErrors = wrong.map((one) => ({ ...one, message: fieldSentence(one.message) }));
  }

  /** Not caused by what was entered, so a merchant may report it. */
  get isFault(): boolean {
    return this.status >= 500;
  }

  /** The outcome is unknown. Repeat the call with the same idempotency key. */
  get undecided(): boolean {
    return this.status === 0 || this.status >= 500 || this.code === 'request_in_progress';
  }
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly request_id?: string;
  readonly param?: string | null;
  readonly field_errors?: readonly FieldError[];
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface CallOptions {
  readonly body?: unknown;
  readonly query?: Query;
  readonly key?: string;
  /** The version that the object must still have. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
  /** Another company than the current one. */
  readonly company?: string;
}

let companyId: string | null = null;

/** Sets the company of all later calls. */
export function setCompanyOfCalls(id: string | null): void {
  companyId = id;
}

function urlOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

function callHeaders(path: string, key?: string, ifMatch?: string): Record<string, string> {
  return {
    accept: 'application/json',
    ...(companyId ? { 'svc-company': companyId } : {}),
    ...(path.startsWith('/v1/') ? { 'svc-version': apiVersion } : {}),
    ...(key ? { 'x-svc-idempotency-key': key } : {}),
    ...(ifMatch ? { 'if-match': ifMatch } : {}),
  };
}

export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  return (await callForVersion<T>(method, path, options)).body;
}

/** An object as it is now, and its version for `ifMatch`. Null if objects of this kind have none. */
export const readVersion = <T>(path: string): Promise<Answer<T>> => callForVersion<T>('GET', path);

/** Sets one field at once, for example with a switch. A form saves through `useEditForm`, which sends only what changed. */
export const changeField = <T>(path: string, name: string, value: unknown, key?: string): Promise<T> =>
  call<T>('PATCH', path, { body: { [name]: value }, ...(key ? { key } : {}) });

interface Answer<T> {
  readonly body: T;
  readonly version: string | null;
}

async function callForVersion<T>(method: Method, path: string, options: CallOptions = {}): Promise<Answer<T>> {
  const key = method === 'GET' ? undefined : (options.key ?? crypto.randomUUID());
  const send = () => sendOnce<T>(method, path, { ...options, ...(key ? { key } : {}) });
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (await overcome(error)) return send();
    throw error;
  }
}

/** True if the user did what the call requires, so that it can be sent again. */
async function overcome({ code }: ApiError): Promise<boolean> {
  if (code === 'step_up_required') return stepUp.ask();
  if (code !== 'session_expired' && code !== 'missing_session') return false;
  if (await signInAgain.ask()) return true;
  leaveForLogin();
  return false;
}

async function sendOnce<T>(method: Method, path: string, options: CallOptions): Promise<Answer<T>> {
  const headers = {
    ...callHeaders(path, options.key, options.ifMatch),
    ...(options.company ? { 'svc-company': options.company } : {}),
  };
  const hasBody = options.body !== undefined;
  const response = await fetch(urlOf(path, options.query), {
    method,
    headers: hasBody ? { ...headers, 'content-type': 'application/json' } : headers,
    credentials: 'same-origin',
    ...(hasBody ? { body: JSON.stringify(options.body) } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  }).catch((cause: unknown) => {
    if (options.signal?.aborted) throw cause;
    throw new ApiError(0, {}, 'The service did not respond. Check your connection and try again.');
  });
  const body = (await response.json().catch(() => ({}))) as { readonly error?: ErrorBody };
  if (response.ok) return { body: body as T, version: response.headers.get('etag') };
  throw new ApiError(response.status, body.error ?? {}, `The service responded with ${response.status}.`);
}

const openPages = ['/login', '/sign-up', '/forgot-password', '/reset-password', '/invitations/'];

function leaveForLogin(): void {
  const { pathname, search } = location;
  if (openPages.some((page) => pathname.startsWith(page))) return;
  location.assign(`/login?next=${encodeURIComponent(pathname + search)}`);
}

/** Uploads with progress, which `fetch` does not report. */
export function upload<T>(path: string, file: File, onProgress: (share: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append('file', file);
    request.open('POST', path);
    for (const [name, value] of Object.entries(callHeaders(path, crypto.randomUUID()))) {
      request.setRequestHeader(name, value);
    }
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / Math.max(total, 1)));
    request.addEventListener('error', () => reject(new ApiError(0, {}, 'The upload was interrupted. Try again.')));
    request.addEventListener('load', () => {
      const body = jsonOf(request.responseText) as { readonly error?: ErrorBody };
      if (request.status < 300) resolve(body as T);
      else reject(new ApiError(request.status, body.error ?? {}, `The service responded with ${request.status}.`));
    });
    request.send(form);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
