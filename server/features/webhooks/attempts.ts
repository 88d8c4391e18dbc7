import type { Attributes } from '@opentelemetry/api';
import type { Clock } from '../../platform/clock.ts';
import { eventIdOf, newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { histogram } from '../../platform/metrics.ts';
import { noAnswer, type Outbound } from '../../platform/outbound/outbound.ts';
import { tracedAlone } from '../../platform/spans.ts';
import { envelopeText, type StoredEvent } from '../events/service.ts';
import type { Attempt, ClaimedDelivery, Receiver } from './delivery-queries.ts';
import { nextAttemptAt, retryAfterMs } from './retry-schedule.ts';
import { keysOf } from './secrets.ts';
import { type Sent, send } from './send.ts';
import type { SigningKey } from './signing.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

/** One attempt: builds the request, and the record of the attempt. */

export interface AttemptDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly secretKey: ServiceKey;
  readonly random: () => number;
}

export interface Attempted {
  readonly record: Attempt;
  readonly gone: boolean;
}

/** With this status, a receiver asks not to be called again. */
const gone = 410;

const notSent = (error: string): Sent => ({
  succeeded: false,
  httpStatus: null,
  durationMs: 0,
  error,
  headers: {},
  body: null,
});

const observe = histogram('svc_webhook_attempt_duration_seconds');

function resultOf({ succeeded, httpStatus, error, headers }: Sent): Parameters<typeof observe>[0]['result'] {
  if (succeeded) return 'succeeded';
  if (httpStatus === null) {
    if (error === noAnswer) return 'timeout';
    return Object.keys(headers).length === 0 ? 'not_sent' : 'unreachable';
  }
  if (httpStatus >= 500) return 'server_error';
  return httpStatus >= 400 ? 'client_error' : 'redirect';
}

/** A delivery is a trace of its own, with a link to the request that caused the event. */
function tracedDelivery({ event, attempts }: ClaimedDelivery, work: () => Promise<Sent>): Promise<Sent> {
  const attributes = { 'svc.event.type': event.type, 'svc.delivery.attempt': attempts };
  const describe = ({ httpStatus, error }: Sent): Attributes => ({
    ...(httpStatus !== null && { 'http.response.status_code': httpStatus }),
    ...(error !== null && { 'error.type': httpStatus === null ? 'no_response' : String(httpStatus) }),
  });
  return tracedAlone('webhook delivery', { kind: 'producer', attributes, describe }, event.trace, work);
}

export function createAttempts(
  dependencies: AttemptDependencies,
  timeoutMs: number,
): (delivery: ClaimedDelivery) => Promise<Attempted> {
  const { clock, log, secretKey, random } = dependencies;
  // The deliveries of one claim share their events and receivers, so keys and bodies are prepared once.
  const keys = new WeakMap<Receiver, readonly SigningKey[]>();
  const bodies = new WeakMap<StoredEvent, Map<string, string>>();

  function keysFor({ company_id, endpoint_id, receiver }: ClaimedDelivery): readonly SigningKey[] {
    const known = keys.get(receiver);
    if (known) return known;
    const sealed = receiver.secrets.map((text) => Buffer.from(text, 'base64'));
    const made = keysOf(secretKey, company_id, endpoint_id, sealed);
    keys.set(receiver, made);
    return made;
  }

  function bodyOf({ event, receiver }: ClaimedDelivery): string {
    const versions = bodies.get(event) ?? new Map<string, string>();
    bodies.set(event, versions);
    const known = versions.get(receiver.api_version);
    if (known !== undefined) return known;
    const made = envelopeText(event, receiver.mode === 'live', receiver.api_version);
    versions.set(receiver.api_version, made);
    return made;
  }

  function sendOnce(delivery: ClaimedDelivery): Promise<Sent> {
    const { receiver, attempts } = delivery;
    const event = { id: eventIdOf(delivery.event_id), type: delivery.event.type };
    const outgoing = { event, body: bodyOf(delivery), url: receiver.url, keys: keysFor(delivery), attempt: attempts };
    return tracedDelivery(delivery, () => send(dependencies, outgoing, timeoutMs));
  }

  // One asynchronous function for the whole attempt: each further one costs a worker with many deliveries some µs.
  return async (delivery) => {
    const { receiver, attempts } = delivery;
    let sent: Sent;
    try {
      sent = receiver.status === 'enabled' ? await sendOnce(delivery) : notSent('the endpoint is disabled');
    } catch (error) {
      // For example a secret that cannot be decrypted: the operator has to fix it, and the delivery is retried until
      // then.
      log.error({ err: error, event_id: delivery.event_id }, 'failed to prepare a delivery');
      sent = notSent('the delivery could not be prepared');
    }
    observe({ result: resultOf(sent) }, sent.durationMs / 1_000);
    const realNowMs = clock.nowMs();
    const nowMs = realNowMs + receiver.clock_offset_ms;
    const again = !sent.succeeded && receiver.status === 'enabled' && sent.httpStatus !== gone;
    const askedMs = retryAfterMs(sent.retryAfter, realNowMs);
    return {
      gone: sent.httpStatus === gone,
      record: {
        company_id: delivery.company_id,
        endpoint_id: delivery.endpoint_id,
        event_id: delivery.event_id,
        inserted_at: delivery.inserted_at,
        log_id: newId(nowMs),
        event_type: delivery.event.type,
        attempt: attempts,
        succeeded: sent.succeeded,
        http_status: sent.httpStatus,
        duration_ms: sent.durationMs,
        error: sent.error,
        request_headers: sent.headers,
        response_body: sent.body,
        at: new Date(nowMs),
        next_attempt_at: again ? nextAttemptAt(attempts, nowMs, askedMs, random()) : null,
        clock_offset_ms: receiver.clock_offset_ms,
      },
    };
  };
}
