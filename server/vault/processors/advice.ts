import { type FailureCode, failureGroups } from './processor.ts';

/** What card networks advise after a decline. They charge a fee for each attempt against their advice. */
export type Advice = 'do_not_try_again' | 'try_again_later' | 'confirm_card_data';

/** By the merchant advice code of Mastercard, which other networks use too. */
const networkAdvice: Readonly<Record<string, Advice>> = {
  '01': 'confirm_card_data',
  '02': 'try_again_later',
  '03': 'do_not_try_again',
  '21': 'do_not_try_again',
  // After an hour, a day, and two to ten days.
  '24': 'try_again_later',
  '25': 'try_again_later',
  '26': 'try_again_later',
  '27': 'try_again_later',
  '28': 'try_again_later',
  '29': 'try_again_later',
  '30': 'try_again_later',
  // A card for one payment, and one that cannot be filled again.
  '40': 'do_not_try_again',
  '41': 'do_not_try_again',
};

/** Visa’s response codes after which a card must not be charged again. */
const finalResponseCodes: ReadonlySet<string> = new Set('04 07 12 15 41 43 46 57 R0 R1 R3'.split(' '));

/** Processors write the code alone, or with its text: `03 : Do not try again`. */
const codeIn = (text: string | null | undefined): string =>
  /^\s*(\w{2})(?=\W|$)/.exec(text ?? '')?.[1]?.toUpperCase() ?? '';

/** From the advice code, or else from the response code of the network. */
export function networkAdviceOf(adviceCode?: string | null, responseCode?: string | null): Advice | undefined {
  const advice = networkAdvice[codeIn(adviceCode)];
  return advice ?? (finalResponseCodes.has(codeIn(responseCode)) ? 'do_not_try_again' : undefined);
}

type Group = keyof typeof failureGroups;

/** The code that stands for the advice, and the groups whose codes already agree with it. */
const meanings: Readonly<Record<Advice, { readonly code: FailureCode; readonly agreeing: readonly Group[] }>> = {
  do_not_try_again: { code: 'contact_bank', agreeing: ['card_data', 'account_status', 'fraud', 'configuration'] },
  confirm_card_data: { code: 'invalid_account', agreeing: ['card_data', 'fraud'] },
  // The advice makes no stolen card good.
  try_again_later: { code: 'issuer_unavailable', agreeing: ['soft', 'fraud', 'configuration'] },
};

/** The advice of the network wins over the code of a decline, unless both agree. */
export function advised(failureCode: FailureCode, advice: Advice | undefined): FailureCode {
  if (!advice) return failureCode;
  const { code, agreeing } = meanings[advice];
  const isAgreed = agreeing.some((group) => (failureGroups[group] as readonly FailureCode[]).includes(failureCode));
  return isAgreed ? failureCode : code;
}
