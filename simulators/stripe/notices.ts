import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../server/platform/clock.ts';
import { secondMs } from '../../server/platform/durations.ts';
import { apiVersion } from '../../server/vault/processors/stripe/requests.ts';
import { type Books, type EventRecord, newId } from './books.ts';

/** Sends the events of the simulated Stripe, as often, as late and as wrongly as the faults say. */

export const noticeFaults = ['notice_twice', 'notice_late', 'notice_forged', 'notice_lost'] as const;

/** Stripe repeats an event for days until it is accepted, less often every time. */
const attemptDelaysMs = [250, 250, 500, 1_000, 2_000];
const lateMs = 1_000;

export interface Notices {
  /** Records an event and sends it. */
  emit(type: string, object: object): void;
  /** Where to send events; events without a receiver wait. */
  receiver(endpoint: Endpoint): void;
}

interface Endpoint {
  readonly url: string;
  readonly secret: string;
  /** The version in which the endpoint gets objects. Without it, the version of the connector. */
  readonly api_version?: string | undefined;
  /** The connected account whose events the endpoint gets, if it is one for Connect. */
  readonly account?: string | undefined;
}

/** From this version on, a payment names its last charge. Before, it had the list of its charges. */
const withLatestCharge = '2022-11-15';

/** An object as an endpoint of an older version gets it. */
function inVersion(version: string, object: Readonly<Record<string, unknown>>): object {
  if (object.object !== 'payment_intent' || version >= withLatestCharge) return object;
  const { latest_charge, ...rest } = object;
  const data = typeof latest_charge === 'object' && latest_charge ? [latest_charge] : [];
  return { ...rest, charges: { object: 'list', data, has_more: false } };
}

interface NoticeOptions {
  readonly books: Books;
  readonly clock: Clock;
  readonly pickFault: () => string | undefined;
  /** Resolves when everything so far is on the disk. Only what survives a crash is reported. */
  readonly durable: () => Promise<void>;
}

export function openNotices({ books, clock, pickFault, durable }: NoticeOptions): Notices {
  let target: Endpoint | undefined;

  const signature = (body: string, secret: string): string => {
    const timestamp = Math.floor(clock.nowMs() / secondMs);
    return `t=${timestamp},v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
  };

  async function post(body: string, signedWith?: string): Promise<boolean> {
    if (!target) return false;
    const headers = {
      'content-type': 'application/json',
      'stripe-signature': signature(body, signedWith ?? target.secret),
    };
    const response = await fetch(target.url, { method: 'POST', headers, body }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  }

  async function deliver(record: EventRecord): Promise<void> {
    const fault = pickFault();
    await durable();
    if (fault === 'notice_lost') return void books.put('events', { ...record, delivered: true });
    if (fault === 'notice_late') await sleep(lateMs);
    if (fault === 'notice_forged') await post(record.body.replaceAll('succeeded', 'failed'), 'whsec_of_another');
    for (let attempt = 0; ; attempt += 1) {
      if (await post(record.body)) {
        books.put('events', { ...record, delivered: true });
        if (fault === 'notice_twice') await post(record.body);
        return;
      }
      await sleep(attemptDelaysMs[Math.min(attempt, attemptDelaysMs.length - 1)]);
    }
  }

  return {
    emit(type, object) {
      const id = newId('evt');
      const created = Math.floor(clock.nowMs() / secondMs);
      const { api_version = apiVersion, account } = target ?? {};
      const shown = inVersion(api_version, object as Readonly<Record<string, unknown>>);
      const about = { id, object: 'event', api_version, ...(account && { account }), type, created, livemode: false };
      const body = JSON.stringify({ ...about, data: { object: shown } });
      const record = books.put('events', { id, body, delivered: false });
      if (target) void deliver(record);
    },
    receiver(endpoint) {
      target = endpoint;
      for (const record of books.events.values()) if (!record.delivered) void deliver(record);
    },
  };
}
