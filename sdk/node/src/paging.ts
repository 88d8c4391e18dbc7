import { keepResponse, responseOf } from './responses.ts';
import type { Call, Operation, RequestOptions } from './request.ts';

/** A page of a list. You can read its objects, or iterate over it and all following pages. */

export interface PageBody<Item> {
  readonly data: Item[];
  readonly url: string;
  /** Whether there are more objects in this direction. */
  readonly has_more: boolean;
  readonly cursors: { readonly next: string | null; readonly previous: string | null };
}

/**
 * `for await (const item of page)` iterates from this page to the end of the list. A page that was requested with
 * `ending_before` iterates backwards, from its last object to the beginning.
 */
export interface Page<Item> extends PageBody<Item>, Collected<Item> {
  /** Undefined on the last page. */
  nextPage(): Promise<Page<Item> | undefined>;
  /** Undefined on the first page. */
  previousPage(): Promise<Page<Item> | undefined>;
}

/** Await it to get one page, or iterate over it to get all objects. */
export type PagePromise<Item> = Promise<Page<Item>> & Collected<Item>;

interface Collected<Item> extends AsyncIterable<Item> {
  /** The objects as an array: at most `limit`, which bounds memory and requests. */
  toArray(options: { readonly limit: number }): Promise<Item[]>;
}

interface PageParameters {
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

export function listPages<Item>(
  call: Call,
  operation: Operation,
  ids: readonly string[],
  parameters: PageParameters = {},
  options?: RequestOptions,
): PagePromise<Item> {
  const fetchPage = async (query: PageParameters): Promise<Page<Item>> => {
    const body = await call<PageBody<Item>>(operation, ids, { query }, options);
    const at = (cursor: PageParameters, id: string | null): Promise<Page<Item> | undefined> =>
      id === null
        ? Promise.resolve(undefined)
        : fetchPage({ ...query, starting_after: undefined, ending_before: undefined, ...cursor });
    const page: Page<Item> = {
      ...body,
      nextPage: () => at({ starting_after: body.cursors.next ?? undefined }, body.cursors.next),
      previousPage: () => at({ ending_before: body.cursors.previous ?? undefined }, body.cursors.previous),
      [Symbol.asyncIterator]: () => (query.ending_before === undefined ? forwards(page) : backwards(page)),
      toArray: (bound) => collected(page, bound),
    };
    keepResponse(page, responseOf(body));
    return page;
  };
  const first = fetchPage(parameters);
  const items = { [Symbol.asyncIterator]: () => walk(first) };
  return Object.assign(first, { ...items, toArray: (bound: { limit: number }) => collected(items, bound) });
}

async function collected<Item>(items: AsyncIterable<Item>, { limit }: { readonly limit: number }): Promise<Item[]> {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError('toArray() requires a limit of at least 1');
  const found: Item[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === limit) break;
  }
  return found;
}

async function* walk<Item>(first: Promise<Page<Item>>): AsyncGenerator<Item, void, undefined> {
  yield* await first;
}

async function* forwards<Item>(from: Page<Item>): AsyncGenerator<Item, void, undefined> {
  for (let page: Page<Item> | undefined = from; page; page = await page.nextPage()) yield* page.data;
}

async function* backwards<Item>(from: Page<Item>): AsyncGenerator<Item, void, undefined> {
  for (let page: Page<Item> | undefined = from; page; page = await page.previousPage()) yield* page.data.toReversed();
}
