import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Outbound, OutboundResult } from '../../platform/outbound/outbound.ts';
import { traceHeaders } from '../../platform/spans.ts';
import { type SigningKey, signatureHeaders } from './signing.ts';

/** Sends one signed request and returns its result. */

export interface Outgoing {
  readonly url: string;
  readonly keys: readonly SigningKey[];
  readonly event: { readonly id: string; readonly type: string };
  /** The event as it is sent to the receiver. */
  readonly body: string;
  readonly attempt: number;
}

export interface Sent {
  readonly succeeded: boolean;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly error: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly retryAfter?: string | undefined;
}

export function send(
  { outbound, clock }: { readonly outbound: Outbound; readonly clock: Clock },
  { url, keys, event, body, attempt }: Outgoing,
  timeoutMs: number = limits.webhookTimeoutSeconds * 1_000,
): Promise<Sent> {
  const startedAtMs = clock.nowMs();
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'svc-webhooks/1',
    'SVC-Event-Id': event.id,
    'SVC-Event-Type': event.type,
    'SVC-Delivery-Attempt': String(attempt),
    ...traceHeaders(),
    ...signatureHeaders(keys, { eventId: event.id, body, timestampSeconds: Math.floor(startedAtMs / 1_000) }),
  };
  return outbound
    .post({ url, headers, body, timeoutMs, answerBytesMax: limits.webhookAnswerBytes })
    .then((result) => sentOf(result, headers, Math.max(0, clock.nowMs() - startedAtMs)));
}

function sentOf(result: OutboundResult, headers: Sent['headers'], durationMs: number): Sent {
  if (!result.answered) {
    return { succeeded: false, httpStatus: null, durationMs, error: result.error, headers, body: null };
  }
  const { status, body, retryAfter } = result;
  const succeeded = status >= 200 && status < 300;
  const error = succeeded
    ? null
    : `responded with ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`;
  return { succeeded, httpStatus: status, durationMs, error, headers, body, retryAfter };
}
