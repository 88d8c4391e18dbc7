import { byId, filled, setText } from '../shared/dom.ts';
import { inWords } from '../shared/page-texts.ts';
import type { Problem } from '../shared/requests.ts';
import { texts } from './texts.ts';

/** What the page says about what the customer did. */

export function say(kind: 'done' | 'problem', text: string): void {
  setText('done', kind === 'done' ? text : null);
  byId('banner').hidden = kind === 'done';
  byId('banner-text').textContent = kind === 'problem' ? text : '';
  const target = byId(kind === 'done' ? 'done' : 'banner');
  target.focus();
  target.scrollIntoView({ block: 'nearest' });
}

/** Some messages of the service are for the merchant; the customer gets those that are for customers. */
export function problemText({ status, code, message, param, retryAfter }: Problem): string {
  if (status === 429) return filled(texts.tooMany, { seconds: retryAfter ?? 30 });
  if (param === 'payment_method_id') return texts.noCardToCharge;
  if (param === 'card_token') return texts.cardAgain;
  return code === 'invalid_request' || code === 'validation_error' ? inWords(message, texts.problem) : texts.problem;
}

export function setSaving(id: string, busyText: string | undefined, text = ''): void {
  const button = byId(id, HTMLButtonElement);
  button.disabled = busyText !== undefined;
  button.classList.toggle('busy', busyText !== undefined);
  byId(`${id}-text`).textContent = busyText ?? text;
}
