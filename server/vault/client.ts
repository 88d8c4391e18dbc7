import { ApiError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import type { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import type { Finding, Outcome } from './processors/processor.ts';
import { vaultAnswer } from './server.ts';
import type { Vault } from './vault.ts';

const timeoutMs = 10_000;
/** Longer than a processor may take, so that its answer is not lost on the last stretch. */
const operationTimeoutMs = 20_000;

function unavailable(): ApiError {
  const message = 'Cards cannot be taken right now. Retry shortly, with the same idempotency key.';
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' } });
}

/** The vault in another process. Whatever is not its answer counts as none. */
export function remoteVault(baseUrl: string, credential: Secret<string>): Vault {
  function post(path: string, body: object, withinMs: number): Promise<Response> {
    return fetch(new URL(path, baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${credential.reveal()}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(withinMs),
    });
  }

  async function call(path: string, body: object): Promise<{ done: true; fingerprint?: string; url?: string | null }> {
    try {
      const response = await post(path, body, timeoutMs);
      const answer: unknown = response.ok ? await response.json() : undefined;
      if (vaultAnswer.Check(answer)) return answer;
    } catch {
      // What went wrong may quote what was sent.
    }
    throw unavailable();
  }

  /** Only a connection that never came about is certain not to have carried the operation. */
  async function operate<Result>(path: string, body: object): Promise<Result | Outcome> {
    try {
      const response = await post(path, body, operationTimeoutMs);
      const answer: unknown = response.ok ? await response.json() : undefined;
      if (vaultAnswer.Check(answer) && answer.outcome) return answer.outcome as Result;
    } catch (error) {
      const code = errorCode((error as Error).cause) ?? '';
      if (['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'].includes(code)) {
        return { outcome: 'not_sent', reason: 'the vault cannot be reached' };
      }
    }
    return { outcome: 'unknown', reason: 'the vault did not answer' };
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
    async connect(companyId, connection) {
      const sent = connection && { ...connection, secret: connection.secret.reveal() };
      await call('/connect', { companyId, connection: sent });
    },
    async connectedTo(companyId) {
      return (await call('/connected-to', { companyId })).url ?? null;
    },
    charge: (request) => operate<Outcome>('/charge', request),
    refund: (request) => operate<Outcome>('/refund', request),
    void: (request) => operate<Outcome>('/void', request),
    async lookup(request) {
      const finding = await operate<Finding>('/lookup', request);
      return finding.outcome === 'not_sent' ? { outcome: 'unknown', reason: finding.reason } : finding;
    },
  };
}
