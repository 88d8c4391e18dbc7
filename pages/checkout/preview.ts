import { byId } from '../shared/dom.ts';
import type { Session } from './session.ts';

/**
 * The page beside a form of the dashboard: it shows each draft that the dashboard gives it. It has no session, so it asks the service
 * for nothing and cannot be paid.
 */

export const isPreview = (): boolean => document.body.hasAttribute('data-preview');

export function showDrafts(show: (session: Session) => void): void {
  byId('layout').inert = true;
  let lines = '';
  addEventListener('message', ({ origin, source, data }: MessageEvent<{ readonly draft?: Session }>) => {
    if (origin !== location.origin || source !== parent || parent === window || !data.draft) return;
    const { draft } = data;
    // Rows are kept by the product, and colors until there are others: here both may be taken away again.
    const next = JSON.stringify(draft.lines);
    if (next !== lines) byId('lines').replaceChildren();
    lines = next;
    document.documentElement.removeAttribute('style');
    show(draft);
  });
  parent.postMessage({ preview: 'ready' }, location.origin);
}
