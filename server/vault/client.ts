import { ApiError } from '../errors.ts';
import type { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import { vaultAnswer } from './server.ts';
import type { Vault } from './vault.ts';

const timeoutMs = 10_000;

function unavailable(): ApiError {
  const message = 'Cards cannot be taken right now. Retry shortly, with the same idempotency key.';
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' } });
}

/** The vault in another process. Whatever is not its answer counts as none. */
export function remoteVault(baseUrl: string, credential: Secret<string>): Vault {
  async function call(path: string, body: object): Promise<{ done: true; fingerprint?: string }> {
    try {
      const response = await fetch(new URL(path, baseUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${credential.reveal()}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer: unknown = response.ok ? await response.json() : undefined;
      if (vaultAnswer.Check(answer)) return answer;
    } catch {
      // What went wrong may quote what was sent.
    }
    throw unavailable();
  }

  return {
    async store({ companyId, cardId, mode, number }) {
      await call('/store', { company_id: companyId, card_id: cardId, mode, number: CardNumber.open(number) });
    },
    async fingerprint(companyId, mode, number) {
      const answer = await call('/fingerprint', { company_id: companyId, mode, number: CardNumber.open(number) });
      if (!answer.fingerprint) throw unavailable();
      return answer.fingerprint;
    },
    async remove(cards) {
      await call('/remove', { cards: cards.map((card) => ({ company_id: card.companyId, card_id: card.cardId })) });
    },
  };
}
