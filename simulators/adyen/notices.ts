import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../server/platform/clock.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';
import { type NoticeItem, signatureOf } from '../../server/vault/processors/adyen/notice-item.ts';

/**
 * Sends the notices of the simulator as Adyen does: signed, several in one request, in one queue. A request that is not accepted is
 * repeated, and all notices behind it wait. Faults come on command.
 */

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
  /** Of another merchant account of the same company, or of the company. */
  readonly merchantAccountCode?: string;
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

const batchMax = 6;
const repeatAfterMs = 200;
const lateMs = 400;
const timeoutMs = 5_000;

export function openNotices(options: NoticeOptions): Notices {
  const { merchantAccount, hmacKey, clock, append, durable, pickFault, random } = options;
  const items: NoticeItem[] = [];
  const waiting = new Set<number>();
  let target: NoticeTarget | undefined;
  let afterMs = 0;

  /** The queue: what can be sent now, in order. */
  const ready: number[] = [];
  let isSending = false;

  async function post(to: NoticeTarget, batch: readonly NoticeItem[]): Promise<boolean> {
    const signIn =
      to.username === undefined ? undefined : Buffer.from(`${to.username}:${to.password}`).toString('base64');
    const notificationItems = batch.map((item) => ({ NotificationRequestItem: item }));
    try {
      const response = await fetch(to.url, {
        method: 'POST',
        signal: AbortSignal.timeout(timeoutMs),
        headers: { 'content-type': 'application/json', ...(signIn && { authorization: `Basic ${signIn}` }) },
        body: JSON.stringify({ live: 'false', notificationItems }),
      });
      await response.text();
      return response.ok;
    } catch {
      return false;
    }
  }

  async function enqueue(number: number, delayMs: number): Promise<void> {
    await sleep(delayMs);
    await durable();
    ready.push(number);
    await send();
  }

  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    while (target && ready.length > 0) await deliver(target, ready.splice(0, 1 + Math.floor(random() * batchMax)));
    isSending = false;
  }

  async function deliver(to: NoticeTarget, numbers: readonly number[]): Promise<void> {
    const fault = pickFault();
    if (fault === 'notice_late') {
      for (const number of numbers) void enqueue(number, lateMs * random());
      return;
    }
    const batch = numbers.flatMap((number) => items[number] ?? []);
    if (fault === 'notice_forged') await post(to, batch.map(forged));
    const isAccepted = fault !== 'notice_lost' && (await post(to, batch));
    if (fault === 'notice_twice') await post(to, batch.map(dated));
    if (!isAccepted) {
      ready.unshift(...numbers);
      return void (await sleep(repeatAfterMs));
    }
    for (const number of numbers) if (waiting.delete(number)) append({ type: 'delivered', number });
  }

  const forged = (item: NoticeItem): NoticeItem => ({ ...item, success: item.success === 'true' ? 'false' : 'true' });
  const dated = (item: NoticeItem): NoticeItem => ({ ...item, eventDate: new Date(clock.nowMs()).toISOString() });

  return {
    restore(line) {
      if (line.type === 'notice') {
        items[line.number] = line.item;
        waiting.add(line.number);
      } else waiting.delete(line.number);
    },
    add({ isSuccess, additionalData, reason = '', originalReference = null, ...event }) {
      const unsigned = {
        merchantAccountCode: merchantAccount,
        ...event,
        originalReference,
        success: isSuccess ? ('true' as const) : ('false' as const),
        eventDate: new Date(clock.nowMs()).toISOString(),
        reason,
      };
      const hmacSignature = signatureOf(unsigned, hmacKey);
      const item: NoticeItem = { ...unsigned, additionalData: { ...additionalData, hmacSignature } };
      const number = items.push(item) - 1;
      waiting.add(number);
      append({ type: 'notice', number, item });
      if (target) void enqueue(number, afterMs);
    },
    sendTo(to, delayMs) {
      const isFirst = target === undefined;
      target = to;
      afterMs = delayMs;
      if (!to) ready.length = 0;
      else if (isFirst) for (const number of waiting) void enqueue(number, afterMs);
    },
    all: () => items,
    get undelivered() {
      return waiting.size;
    },
  };
}
