import { inPageLocale } from './page-texts.ts';

/** Requests of a page to the service. An answer that did not arrive is never taken for a refusal. */

export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly field_errors: readonly { readonly field: string; readonly message: string }[];
  /** Seconds to wait, if the service returned them. */
  readonly retryAfter: number | null;
}

export type Answer<Body> =
  | { readonly kind: 'done'; readonly body: Body }
  /** The service answered that it did not do it. */
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** The service did it, or did not: the page does not know. */
  | { readonly kind: 'lost'; readonly retryAfter: number | null };

export async function request<Body>(path: string, body?: object, timeoutMs = 20_000): Promise<Answer<Body>> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeoutMs);
  try {
    const response = await fetch(inPageLocale(path), {
      ...(body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
      redirect: 'error',
      signal: abort.signal,
    });
    const retryAfter = Number(response.headers.get('retry-after')) || null;
    const answer = (await response.json()) as Body & { error?: Partial<Problem> };
    if (response.ok) return { kind: 'done', body: answer };
    if (response.status >= 500 || !answer.error) return { kind: 'lost', retryAfter };
    return { kind: 'refused', problem: problemOf(response.status, answer.error, retryAfter) };
  } catch {
    return { kind: 'lost', retryAfter: null };
  } finally {
    clearTimeout(timer);
  }
}

function problemOf(status: number, error: Partial<Problem>, retryAfter: number | null): Problem {
  const { code = '', message = '', param = null, field_errors = [] } = error;
  return { status, code, message, param, field_errors, retryAfter };
}

/** Waits, but not longer than until the connection is back. */
export function pauseMs(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    addEventListener('online', done);
  });
}

const firstPauseMs = 1_000;
const longestPauseMs = 15_000;

/**
 * Repeats a request until the service answers. Only for requests that may be repeated. "Too many requests" is no answer to a
 * question, nor to a request whose first answer was lost.
 */
export async function untilAnswered<Body>(
  ask: () => Promise<Answer<Body>>,
  onLost: (repeats: number) => void,
  isQuestion = false,
): Promise<Exclude<Answer<Body>, { kind: 'lost' }>> {
  for (let repeats = 0; ; repeats += 1) {
    const answer = await ask();
    const mustWait = answer.kind === 'refused' && answer.problem.status === 429 && (isQuestion || repeats > 0);
    if (answer.kind === 'done' || (answer.kind === 'refused' && !mustWait)) return answer;
    onLost(repeats);
    const ownPauseMs = Math.min(firstPauseMs * 2 ** repeats, longestPauseMs);
    const { retryAfter } = answer.kind === 'lost' ? answer : answer.problem;
    await pauseMs(Math.max(ownPauseMs, (retryAfter ?? 0) * 1000));
  }
}
