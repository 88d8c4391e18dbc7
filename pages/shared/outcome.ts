import type { Template } from '../../server/customer-texts/messages.ts';
import { byId, drawing, element, type Reachable, setLink, setSupport, setText } from './dom.ts';

/** What a page shows instead of its content: it waits, it is done, or it cannot go on. */

export interface Outcome {
  readonly symbol: 'wait' | 'tick' | 'clock' | 'cloud';
  readonly title: string;
  readonly text: string;
  readonly rows?: readonly (readonly [label: string, value: Node | string])[];
  readonly link?: { readonly url: string; readonly text: string } | undefined;
  readonly receiptUrl?: string | null;
  readonly note?: string | undefined;
  /** The text for questions, with a place for the address. */
  readonly support?: { readonly text: Template | string; readonly merchant: Reachable };
  readonly canRetry?: true;
  /** The page shows nothing else, so this is its title. */
  readonly isAlone?: true;
}

export function enterOutcome(state: string, outcome: Outcome): void {
  const { symbol, title, text, rows = [], link, receiptUrl, note, support, canRetry, isAlone } = outcome;
  const layout = byId('layout');
  const isNew = layout.dataset.state !== state;
  layout.dataset.state = state;
  const area = byId('outcome');
  area.hidden = false;
  byId('outcome-symbol').replaceChildren(drawing(symbol, `symbol ${symbol}`));
  byId('outcome-title').textContent = title;
  byId('outcome-title').setAttribute('aria-level', isAlone ? '1' : '2');
  byId('outcome-text').textContent = text;
  byId('outcome-rows').hidden = rows.length === 0;
  byId('outcome-rows').replaceChildren(
    ...rows.map(([label, value]) => element('div', {}, element('dt', {}, label), element('dd', {}, value))),
  );
  setLink('outcome-link', link?.url);
  byId('outcome-link').textContent = link?.text ?? '';
  setLink('outcome-receipt', receiptUrl);
  setText('outcome-note', note);
  setSupport('outcome-support', support?.text ?? '', support?.merchant);
  byId('outcome-retry').hidden = !canRetry;
  if (isNew) area.focus();
}

export function leaveOutcome(): void {
  byId('outcome').hidden = true;
  byId('layout').dataset.state = 'open';
}
