import { jsonText } from '../platform/json-text.ts';
import { ownTurn } from '../platform/own-turn.ts';
import type { Page } from './lists.ts';
import type { Route } from './route.ts';
import { renderResponse } from './versions/versions.ts';

/** Renders the result of a handler as JSON for the caller, with the requested fields and version. */

export interface Rendering {
  readonly route: Route;
  readonly apiVersion: string;
  /** The path of this call. */
  readonly path: string;
  /** The requested properties. */
  readonly fields: ReadonlySet<string> | undefined;
}

function picked(object: unknown, fields: Rendering['fields']): unknown {
  return fields ? Object.fromEntries(Object.entries(object as object).filter(([name]) => fields.has(name))) : object;
}

export function render({ route, apiVersion, fields }: Rendering, result: unknown): string {
  return jsonText(renderResponse(apiVersion, route, picked(result, fields)));
}

// About a millisecond of work.
const sliceLength = 128 * 1024;

/** Renders in slices and lets other requests run in between: a page can have 1.6 MB. */
export async function renderList({ route, apiVersion, path, fields }: Rendering, page: Page<unknown>): Promise<string> {
  const body = {
    data: page.items.map((item) => picked(item, fields)),
    url: path,
    has_more: page.hasMore,
    cursors: { next: page.next, previous: page.previous },
  };
  const { data, ...rest } = renderResponse(apiVersion, route, body) as typeof body;
  let items = '';
  let sliceEnd = sliceLength;
  for (const item of data) {
    items += (items === '' ? '' : ',') + JSON.stringify(item);
    if (items.length < sliceEnd) continue;
    await ownTurn();
    sliceEnd = items.length + sliceLength;
  }
  return `{"data":[${items}],${JSON.stringify(rest).slice(1)}`;
}
