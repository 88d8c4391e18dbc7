import type { DisputeReason } from './notices.ts';

/** By the card networks' codes: Visa, Mastercard, American Express, Discover. */
const reasons: readonly (readonly [form: RegExp, reason: DisputeReason])[] = [
  [/^(10\.|4837|4840|4849|4863|4870|4871|F|UA)/, 'fraudulent'],
  [/^(13\.1|4855|C08|RG)/, 'product_not_received'],
  [/^(13\.[345]|4853|C31|C32|RM)/, 'product_unacceptable'],
  [/^(13\.2|4841|C28|AP)/, 'subscription_canceled'],
  [/^(12\.6|4834|P08|DP)/, 'duplicate'],
  [/^(13\.[67]|4860|C0[24]|RN)/, 'credit_not_processed'],
];

/** Why a cardholder disputes a charge, by the code of the card network. */
export function reasonOfCode(code: string | null | undefined): DisputeReason {
  return reasons.find(([form]) => form.test(code ?? ''))?.[1] ?? 'general';
}
