import { defaultLocale } from '../../customer-texts/languages.ts';
import { periodValues } from '../../customer-texts/periods.ts';
import { type Words, wordsFor } from '../../customer-texts/words.ts';
import { invalidField } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import type { GivenConsent } from '../consents/service.ts';
import type { Profile } from '../profile/schemas.ts';
import { ownText, profileOf, termsIn } from '../profile/service.ts';
import type { Payment } from './page-schemas.ts';
import type { Agreement } from './page-session.ts';
import type { Quote } from './quote.ts';

/** What the customer agrees to on the checkout page. The page shows these texts as they are, so what is stored is what was shown. */

/** The day since which our texts are as they are. A test fails if they change and this does not. */
export const agreementVersion = '2026-11-19';

export const agreementWords = ({ locale }: RequestContext): Promise<Words> => wordsFor(locale ?? defaultLocale);

/** Null if nothing renews. */
export function renewalText({ texts, fill, amount }: Words, { plan, total, currency }: Quote): string | null {
  if (!plan || plan.billing_cycles === 1) return null;
  const { checkout } = texts;
  const { billing_cycles: count } = plan;
  const period = fill(checkout.period, { ...periodValues(plan.billing_cycle) });
  const price = fill(checkout.price, { amount: amount(plan.amount, currency), period });
  const values = { total: amount(total, currency), price };
  return count === 0 ? fill(checkout.terms, values) : fill(checkout.termsLimited, { ...values, count });
}

export const agreementOf = (
  words: Words,
  profile: Pick<Profile, 'display_name' | 'terms_url' | 'terms_version' | 'texts' | 'locale'>,
): Agreement => {
  const { fill, locale, texts } = words;
  const { display_name: merchant } = profile;
  const terms = termsIn(profile, locale);
  const usual = { text: fill(texts.checkout.agreeTerms, { merchant }), locale };
  return {
    terms: terms && { ...(ownText(profile, 'terms_text', locale) ?? usual), url: terms.url },
    save_card: fill(texts.checkout.saveCard, { merchant }),
  };
};

/** What the page says the customer has agreed to. Throws if it is not what the page shows now. */
export async function consentsGiven(
  context: RequestContext,
  { agreed = {}, save_card, card_token }: Payment,
  quote: Quote,
): Promise<GivenConsent[]> {
  if (Object.keys(agreed).length === 0) return [];
  const words = await agreementWords(context);
  const profile = await profileOf(context.db, context.company);
  const { terms, save_card: saveText } = agreementOf(words, profile);
  const savesCard = save_card === true && card_token !== undefined;
  const shown = {
    terms: terms?.text ?? null,
    renewal: renewalText(words, quote),
    save_card: savesCard ? saveText : null,
  };
  return (['terms', 'renewal', 'save_card'] as const).flatMap((kind) => {
    const [text, seen] = [shown[kind], agreed[kind]];
    if (seen === undefined) return [];
    if (seen !== text) {
      throw invalidField(`agreed.${kind}`, 'must be the text that the page shows. It has changed: load the page again');
    }
    const agreedTerms = kind === 'terms' ? termsIn(profile, words.locale) : null;
    return {
      ...{ kind, text, locale: (kind === 'terms' && terms?.locale) || words.locale },
      version: agreedTerms?.version ?? agreementVersion,
      url: agreedTerms?.url ?? null,
      given_at: new Date(context.nowMs).toISOString(),
    };
  });
}
