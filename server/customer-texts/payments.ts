import type { FailureCode } from '../vault/processors/processor.ts';
import { payments as english } from './languages/en/payments.ts';
import { textsFor } from './texts.ts';

/** Why a charge was declined, and what the customer can do. Nothing here tells a thief what the bank suspects. */
export const declineTexts: Readonly<Record<FailureCode, string>> = english.declined;

/** Why the checkout page charged nothing. `total`: the price changed while the customer paid. */
export const notChargedTexts = english.notCharged;

const keys = new Map(
  (['declined', 'notCharged'] as const).flatMap((group) =>
    Object.entries<string>(english[group]).map(([key, text]) => [text, { group, key }] as const),
  ),
);

/** The text of a refused payment in another language. The database has it in English. */
export async function translatedReason(text: string, locale: string | undefined): Promise<string> {
  const found = keys.get(text);
  if (!found || locale === undefined) return text;
  const { payments } = await textsFor(locale);
  const group: Readonly<Record<string, string>> = payments[found.group];
  return group[found.key] ?? text;
}
