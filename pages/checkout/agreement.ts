import { byId, setLink } from '../shared/dom.ts';
import { pageLocale } from '../shared/page-texts.ts';
import type { Payment, Quote, Session } from './session.ts';

/** What the customer agrees to: the terms of the merchant, and with a box that a new card is saved. */

/** A subscription that renews needs its card, as its terms say, so it has no box. */
export function showAgreement({ agreement }: Session, { renewal }: Quote): void {
  const terms = byId('agreement');
  terms.hidden = !agreement?.terms;
  const { text = '', locale = pageLocale() } = agreement?.terms ?? {};
  const link = byId('agreement-link');
  link.textContent = text;
  link.lang = locale;
  setLink('agreement-link', agreement?.terms?.url);
  byId('save-area').hidden = renewal !== null;
  const [saving, shown] = [agreement?.save_card ?? '', byId('save-text')];
  // A tick belongs to the text that it was given to.
  if (shown.textContent !== saving) byId('save-card', HTMLInputElement).checked = false;
  shown.textContent = saving;
}

/** The texts as they were shown, which the service stores. */
export function agreedTo(
  { agreement }: Session,
  { renewal }: Quote,
  isNewCard: boolean,
): Pick<Payment, 'save_card' | 'agreed'> {
  const saves = isNewCard && renewal === null && byId('save-card', HTMLInputElement).checked;
  const agreed = {
    ...(agreement?.terms && { terms: agreement.terms.text }),
    ...(renewal !== null && { renewal }),
    ...(saves && agreement && { save_card: agreement.save_card }),
  };
  return { ...(isNewCard && { save_card: saves }), agreed };
}
