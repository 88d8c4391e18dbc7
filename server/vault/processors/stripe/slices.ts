import { secondMs } from '../../../platform/durations.ts';
import { type ExchangeRequest, jsonOf } from '../exchange.ts';
import type { Client } from './client.ts';
import { readList, readNamed } from './objects.ts';
import type { Period } from './requests.ts';

/**
 * Stripe lists the newest object first. To read a period from its start, we read one slice of it at a time, whole, and
 * put it in order. A slice is as long as the number of its objects allows.
 */

const pagesMax = 10;
/** A slice with fewer objects is followed by a longer one. */
const fewObjects = 100;

export interface Cursor {
  /** The second at which the next slice begins. */
  readonly from: number;
  /** The length of the slice in seconds. */
  readonly length: number;
}

export function cursorOf(text: string | undefined, first: Cursor): Cursor {
  const [, from, length] = /^(\d+):(\d+)$/.exec(text ?? '') ?? [];
  return from && length ? { from: Number(from), length: Number(length) } : first;
}

export const textOf = ({ from, length }: Cursor): string => `${from}:${length}`;

interface Slice<Item> {
  /** The oldest first. */
  readonly items: readonly Item[];
  readonly askedAtMs: number;
}

export type ListRequestOf = (period: Period, after?: string) => ExchangeRequest;

/** Reads one page. Throws if Stripe does not list it. */
async function readPage<Item>(
  { send, clock }: Client,
  request: ExchangeRequest,
  read: (value: unknown) => Item | undefined,
): Promise<Slice<Item> & { readonly after: string | undefined }> {
  const answer = await send(request);
  if ('reason' in answer) throw new Error(`Stripe did not list its operations: ${answer.reason}`);
  const list = answer.status === 200 ? readList(jsonOf(answer)) : undefined;
  if (!list) throw new Error(`Stripe answered ${answer.status} for its operations`);
  const items = list.data.map((value) => {
    const item = read(value);
    if (!item) throw new Error('Stripe listed an object that cannot be read');
    return item;
  });
  const after = list.has_more ? readNamed(list.data.at(-1))?.id : undefined;
  return { items, askedAtMs: answer.askedAtMs ?? clock.nowMs(), after };
}

/** Returns undefined if there are too many for one slice. Throws if Stripe does not list them. */
async function readAll<Item>(
  client: Client,
  request: ListRequestOf,
  period: Period,
  read: (value: unknown) => Item | undefined,
): Promise<Slice<Item> | undefined> {
  // One second cannot be cut further.
  const most = period.until - period.from <= 1 ? Number.POSITIVE_INFINITY : pagesMax;
  const newestFirst: Item[] = [];
  let askedAtMs: number | undefined;
  let after: string | undefined;
  for (let pages = 0; pages < most; pages += 1) {
    const page = await readPage(client, request(period, after), read);
    newestFirst.push(...page.items);
    askedAtMs ??= page.askedAtMs;
    after = page.after;
    if (after === undefined) return { items: newestFirst.toReversed(), askedAtMs };
  }
  return undefined;
}

/** Reads several lists of the slice at the cursor, and returns the cursor of the next slice. */
export async function readSlice<Items extends readonly unknown[]>(
  client: Client,
  { from, length: wanted }: Cursor,
  { until, longest }: { readonly until: number; readonly longest: number },
  lists: { readonly [Index in keyof Items]: readonly [ListRequestOf, (value: unknown) => Items[Index] | undefined] },
): Promise<{ readonly slices: { readonly [Index in keyof Items]: Slice<Items[Index]> }; readonly next: Cursor }> {
  for (let length = wanted; ; length = Math.max(1, Math.floor(length / 4))) {
    const end = Math.min(from + length, until);
    const slices: Slice<unknown>[] = [];
    for (const [request, read] of lists) {
      const slice = await readAll(client, request, { from, until: end }, read);
      if (!slice) break;
      slices.push(slice);
    }
    if (slices.length < lists.length) continue;
    const isShort = slices.every(({ items }) => items.length < fewObjects);
    const next = { from: end, length: isShort ? Math.min(length * 4, longest) : length };
    return { slices: slices as { readonly [Index in keyof Items]: Slice<Items[Index]> }, next };
  }
}

export const secondsOf = (ms: number): number => Math.floor(ms / secondMs);
