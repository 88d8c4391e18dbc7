import type { CardToken, Credential, ErrorDetails, TokenOptions } from './svc.ts';

const tokenTimeoutMs = 30_000;

export interface CardInput {
  readonly number: string;
  readonly exp_month: string;
  readonly exp_year: string;
  readonly cvc: string;
}

export type TokenOutcome =
  | { readonly token: CardToken }
  /** A status of 0 means that there was no response. */
  | { readonly error: ErrorDetails; readonly status: number };

export async function requestToken(
  credential: Credential,
  card: CardInput,
  { billing_details }: TokenOptions,
): Promise<TokenOutcome> {
  const { path, headers, cookies } = accessOf(credential);
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), tokenTimeoutMs);
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ card, ...(billing_details && { billing_details }) }),
      credentials: cookies,
      cache: 'no-store',
      redirect: 'error',
      signal: abort.signal,
    });
    const body: unknown = await response.json();
    if (response.ok) return { token: tokenOf(body as CardToken) };
    return { status: response.status, error: errorOf(response, body as { error?: Partial<ErrorDetails> } | null) };
  } catch {
    return { status: 0, error: { ...emptyError, code: 'connection_failed', message: 'The service did not respond.' } };
  } finally {
    clearTimeout(timer);
  }
}

interface Access {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: RequestCredentials;
}

/** Where a token is requested, and by which right. */
function accessOf(credential: Credential): Access {
  const path = 'v1/card_tokens';
  if (typeof credential === 'string')
    return { path, headers: { authorization: `Bearer ${credential}` }, cookies: 'omit' };
  if ('session' in credential) return { path, headers: { 'svc-company': credential.session }, cookies: 'same-origin' };
  const { page, token } = credential;
  return { path: `${page}/${encodeURIComponent(token)}/card_tokens`, headers: {}, cookies: 'omit' };
}

export const emptyError: ErrorDetails = {
  code: '',
  message: '',
  param: null,
  field_errors: [],
  request_id: null,
  retry_after: null,
};

/** Copies only these fields, so that nothing else of a response leaves the iframe. */
function tokenOf({ id, card, expires_at }: CardToken): CardToken {
  const { brand, last4, exp_month, exp_year } = card;
  return { id, card: { brand, last4, exp_month, exp_year }, expires_at };
}

function errorOf(response: Response, body: { error?: Partial<ErrorDetails> } | null): ErrorDetails {
  const { code, message, param, field_errors, request_id } = body?.error ?? {};
  const retryAfter = response.headers.get('retry-after');
  return {
    code: code ?? 'unexpected_answer',
    message: message ?? `The service responded with status ${response.status}.`,
    param: param ?? null,
    field_errors: field_errors ?? [],
    request_id: request_id ?? response.headers.get('svc-request-id'),
    retry_after: retryAfter === null ? null : Number(retryAfter) || null,
  };
}
