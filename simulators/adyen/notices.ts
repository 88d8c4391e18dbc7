import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../server/platform/clock.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';
import { type NoticeItem, signatureOf } from '../../server/vault/processors/adyen/notice-item.ts';

/** Sends the notices of the simulator: signed, repeated until they are accepted, and with faults on command. */

interface NoticeLine {
  readonly type: 'notice';
  readonly number: number;
  readonly item: NoticeItem;
}

interface DeliveredLine {
  readonly type: 'delivered';
  readonly number: number;
}

export type NoticesLine = NoticeLine | DeliveredLine;

export interface NoticeTarget {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

export interface NoticeEvent {
  readonly eventCode: string;
  readonly pspReference: string;
  readonly originalReference?: string | null;
  readonly merchantReference: string;
  readonly amount: AdyenAmount;
  readonly isSuccess: boolean;
  readonly reason?: string;
  readonly additionalData?: Readonly<Record<string, string>>;
}

export interface NoticeOptions {
  readonly merchantAccount: string;
  readonly hmacKey: string;
  readonly clock: Clock;
  append(line: NoticesLine): void;
  /** Resolves when everything so far is on the disk. Only what survives a crash is reported. */
  durable(): Promise<void> | undefined;
  /** The fault of the next delivery: `notice_twice`, `notice_late`, `notice_forged` or `notice_lost`. */
  pickFault(): string | undefined;
  random(): number;
}

export interface Notices {
  /** Adds a notice that an earlier run created or delivered. */
  restore(line: NoticesLine): void;
  add(event: NoticeEvent): void;
  /** Starts to deliver everything that was not accepted yet. */
  sendTo(target: NoticeTarget | undefined, afterMs: number): void;
  all(): NoticeItem[];
  readonly undelivered: number;
}

const repeatAfterMs = 200;
const lateMs = 400;
const timeoutMs = 5_000;

export function openNotices(options: NoticeOptions): Notices {
  const { merchantAccount, hmacKey, clock, append, durable, pickFault, random } = options;
  const items: NoticeItem[] = [];
  const waiting = new Set<number>();
  let target: NoticeTarget | undefined;
  let afterMs = 0;

  async function post(to: NoticeTarget, item: NoticeItem): Promise<boolean> {
    const signIn =
      to.username === undefined ? undefined : Buffer.from(`${to.username}:${to.password}`).toString('base64');
    try {
      const response = await fetch(to.url, {
        method: 'POST',
        signal: AbortSignal.timeout(timeoutMs),
        headers: { 'content-type': 'application/json', ...(signIn && { authorization: `Basic ${signIn}` }) },
        body: JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: item }] }),
      });
      await response.text();
      return response.ok;
    } catch {
      return false;
    }
  }

  async function deliver(number: number): Promise<void> {
    const item = items[number];
    if (!item) return;
    await sleep(afterMs);
    await durable();
    while (waiting.has(number)) {
      const to = target;
      if (!to) return;
      const fault = pickFault();
      if (fault === 'notice_late') await sleep(lateMs * random());
      if (fault === 'notice_forged') await post(to, { ...item, success: item.success === 'true' ? 'false' : 'true' });
      const isAccepted = fault !== 'notice_lost' && (await post(to, item));
      if (fault === 'notice_twice') await post(to, { ...item, eventDate: new Date(clock.nowMs()).toISOString() });
      if (isAccepted && waiting.delete(number)) append({ type: 'delivered', number });
      else await sleep(repeatAfterMs);
    }
  }

  return {
    restore(line) {
      if (line.type === 'notice') {
        items[line.number] = line.item;
        waiting.add(line.number);
      } else waiting.delete(line.number);
    },
    add({ isSuccess, additionalData, reason = '', originalReference = null, ...event }) {
      const unsigned = {
        ...event,
        originalReference,
        merchantAccountCode: merchantAccount,
        success: isSuccess ? ('true' as const) : ('false' as const),
        eventDate: new Date(clock.nowMs()).toISOString(),
        reason,
      };
      const hmacSignature = signatureOf(unsigned, hmacKey);
      const item: NoticeItem = { ...unsigned, additionalData: { ...additionalData, hmacSignature } };
      const number = items.push(item) - 1;
      waiting.add(number);
      append({ type: 'notice', number, item });
      void deliver(number);
    },
    sendTo(to, delayMs) {
      const isFirst = target === undefined;
      target = to;
      afterMs = delayMs;
      if (isFirst && to) for (const number of waiting) void deliver(number);
    },
    all: () => items,
    get undelivered() {
      return waiting.size;
    },
  };
}
