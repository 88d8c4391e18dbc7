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
/** Adyen's times in the speed of the simulator: 2, 5, 10, 15 and 30 minutes, 1, 2, 4 and 8 hours. */
const minutesOfRepetitions = [2, 5, 10, 15, 30, 60, 120, 240, 480];
const minuteHereMs = 100;
/** So many notices of ours are followed by one that is not: a webhook is usually one of the whole company. */
const noticesPerForeignOne = 20;
const lateMs = 400;
const timeoutMs = 5_000;

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

interface Queue {
  /** Puts a notice at the end of the queue after a time. */
  add(number: number, delayMs: number): Promise<void>;
  /** Where the notices go from now on; nowhere without a target. */
  target(to: NoticeTarget | undefined): void;
}

/** One queue for the endpoint. `onAccepted` hears of the notices that the receiver has accepted. */
function openQueue(
  { clock, durable, pickFault, random }: NoticeOptions,
  itemOf: (number: number) => NoticeItem | undefined,
  onAccepted: (numbers: readonly number[]) => void,
): Queue {
  const state: { to: NoticeTarget | undefined; isSending: boolean; failures: number } = {
    to: undefined,
    isSending: false,
    failures: 0,
  };
  const ready: number[] = [];
  const forged = (item: NoticeItem): NoticeItem => ({ ...item, success: item.success === 'true' ? 'false' : 'true' });
  const dated = (item: NoticeItem): NoticeItem => ({ ...item, eventDate: new Date(clock.nowMs()).toISOString() });

  async function add(number: number, delayMs: number): Promise<void> {
    await sleep(delayMs);
    await durable();
    ready.push(number);
    if (state.isSending) return;
    state.isSending = true;
    while (state.to && ready.length > 0) {
      await deliver(state.to, ready.splice(0, 1 + Math.floor(random() * batchMax)));
    }
    state.isSending = false;
  }

  async function deliver(to: NoticeTarget, numbers: readonly number[]): Promise<void> {
    const fault = pickFault();
    if (fault === 'notice_late') {
      for (const number of numbers) void add(number, lateMs * random());
      return;
    }
    const batch = numbers.flatMap((number) => itemOf(number) ?? []);
    if (fault === 'notice_forged') await post(to, batch.map(forged));
    const isAccepted = fault !== 'notice_lost' && (await post(to, batch));
    if (fault === 'notice_twice') await post(to, batch.map(dated));
    if (isAccepted) {
      state.failures = 0;
      return onAccepted(numbers);
    }
    ready.unshift(...numbers);
    const minutes = minutesOfRepetitions[Math.min(state.failures, minutesOfRepetitions.length - 1)] ?? 0;
    state.failures += 1;
    await sleep(minutes * minuteHereMs);
  }

  return {
    add,
    target(to) {
      state.to = to;
      if (!to) ready.length = 0;
    },
  };
}

/** A report of the company, or a payment of its other merchant account. */
function foreign(count: number): NoticeEvent {
  const isReport = count % (2 * noticesPerForeignOne) === 0;
  return {
    eventCode: isReport ? 'REPORT_AVAILABLE' : 'AUTHORISATION',
    pspReference: `FOREIGN${count}`,
    merchantReference: isReport ? '' : 'x'.repeat(count % 160),
    merchantAccountCode: isReport ? 'TheCompany' : 'AnotherECOM',
    amount: { currency: 'EUR', value: isReport ? 0 : 4900 },
    isSuccess: true,
    reason: isReport ? 'https://ca-live.adyen.com/reports/download/MerchantAccount/report.csv' : '',
  };
}

export function openNotices(options: NoticeOptions): Notices {
  const { merchantAccount, hmacKey, clock, append } = options;
  const items: NoticeItem[] = [];
  const waiting = new Set<number>();
  let target: NoticeTarget | undefined;
  let afterMs = 0;
  const queue = openQueue(
    options,
    (number) => items[number],
    (numbers) => {
      for (const number of numbers) if (waiting.delete(number)) append({ type: 'delivered', number });
    },
  );

  function add({ isSuccess, additionalData, reason = '', originalReference = null, ...event }: NoticeEvent): void {
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
    if (target) void queue.add(number, afterMs);
  }

  return {
    restore(line) {
      if (line.type === 'notice') {
        items[line.number] = line.item;
        waiting.add(line.number);
      } else waiting.delete(line.number);
    },
    add(event) {
      add(event);
      if (items.length % noticesPerForeignOne === 0) add(foreign(items.length));
    },
    sendTo(to, delayMs) {
      const isFirst = target === undefined;
      target = to;
      afterMs = delayMs;
      queue.target(to);
      if (isFirst && to) for (const number of waiting) void queue.add(number, afterMs);
    },
    all: () => items,
    get undelivered() {
      return waiting.size;
    },
  };
}
