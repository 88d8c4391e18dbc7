import type { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import type { Vault } from './vault.ts';

export class VaultUnavailable extends Error {}

const timeoutMs = 10_000;

/** The vault in another process. */
export function remoteVault(baseUrl: string, credential: Secret<string>): Vault {
  async function call(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(new URL(path, baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${credential.reveal()}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined);
    if (!response?.ok)
      throw new VaultUnavailable(`the vault did not serve ${path} (${response?.status ?? 'no answer'})`);
    return (await response.json()) as Record<string, unknown>;
  }

  return {
    async store({ companyId, cardId, mode, number }) {
      await call('/store', { company_id: companyId, card_id: cardId, mode, number: CardNumber.open(number) });
    },
    async fingerprint(companyId, mode, number) {
      const answer = await call('/fingerprint', { company_id: companyId, mode, number: CardNumber.open(number) });
      return String(answer.fingerprint);
    },
    async remove(cards) {
      await call('/remove', { cards: cards.map((card) => ({ company_id: card.companyId, card_id: card.cardId })) });
    },
  };
}
