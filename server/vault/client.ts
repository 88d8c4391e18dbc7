import { Agent, buildConnector, request } from 'undici';
import { ApiError } from '../errors.ts';
import type { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import type { LookupOutcome, Outcome } from './processors/processor.ts';
import { type VaultAnswer, vaultAnswer, vaultHealth } from './server.ts';
import type { Vault, VaultOutcome } from './vault.ts';

const timeoutMs = 10_000;
/** Longer than a processor may take, so that its answer is not lost between vault and API. */
const operationTimeoutMs = 20_000;
/** Much shorter, so that an unreachable vault is detected before the operation itself times out. */
const connectTimeoutMs = 3_000;
const readyTimeoutMs = 500;

/** No connection was established, so nothing was sent. */
class NotConnected extends Error {}

/** Status codes with which the vault rejects a request before it does anything. */
const refusals = [400, 401];

function unavailable(): ApiError {
  const message = 'The card vault is unavailable. Retry shortly with the same idempotency key.';
  return new ApiError('service_unavailable', message, { headers: { 'Retry-After': '1' } });
}

interface Connection {
  post(path: string, body: object, withinMs: number): Promise<{ readonly status: number; readonly answer: unknown }>;
  /** Returns undefined if there is no successful response. */
  get(path: string): Promise<unknown>;
  close(): Promise<void>;
}

function openConnection(baseUrl: string, credential: Secret<string>): Connection {
  const connector = buildConnector({ timeout: connectTimeoutMs });
  const dispatcher = new Agent({
    connect: (options, done) => {
      connector(options, (...[error, socket]) => {
        if (error) done(new NotConnected(error.message), null);
        else if (socket) done(null, socket);
      });
    },
  });
  return {
    async post(path, body, withinMs) {
      const response = await request(new URL(path, baseUrl), {
        method: 'POST',
        dispatcher,
        headers: { authorization: `Bearer ${credential.reveal()}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(withinMs),
      });
      const { statusCode: status } = response;
      if (status === 200) return { status, answer: await response.body.json() };
      await response.body.dump();
      return { status, answer: undefined };
    },
    async get(path) {
      try {
        const response = await request(new URL(path, baseUrl), {
          dispatcher,
          signal: AbortSignal.timeout(readyTimeoutMs),
        });
        if (response.statusCode === 200) return await response.body.json();
        await response.body.dump();
      } catch {
        // The caller treats a missing answer as undefined.
      }
      return undefined;
    },
    close: () => dispatcher.close(),
  };
}

/** The vault in another process. A response that the vault did not send counts as no response. */
export function remoteVault(baseUrl: string, credential: Secret<string>): Vault {
  const { post, get, close } = openConnection(baseUrl, credential);

  async function call(path: string, body: object): Promise<VaultAnswer> {
    try {
      const { answer } = await post(path, body, timeoutMs);
      if (vaultAnswer.Check(answer)) return answer;
    } catch {
      // The original error may quote the request, so it is not passed on.
    }
    throw unavailable();
  }

  /**
   * The operation certainly did not reach the processor only if no connection was established or the vault rejected
   * the request.
   */
  async function operate<Result>(path: string, body: object): Promise<Result | VaultOutcome> {
    try {
      const { status, answer } = await post(path, body, operationTimeoutMs);
      if (refusals.includes(status)) return { outcome: 'unavailable', reason: `the vault responded with ${status}` };
      if (vaultAnswer.Check(answer) && answer.outcome) return answer.outcome as Result;
    } catch (error) {
      if (error instanceof NotConnected) return { outcome: 'unavailable', reason: 'the vault is unreachable' };
    }
    return { outcome: 'unknown', reason: 'the vault did not respond' };
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
    operations: async (wanted) => (await call('/operations', wanted)).listing,
    async connectedTo(companyId) {
      return (await call('/connected-to', { companyId })).url ?? null;
    },
    isReady: async () => (await get('/readyz')) !== undefined,
    async nowMs() {
      const answer = await get('/healthz');
      return vaultHealth.Check(answer) ? answer.now_ms : undefined;
    },
    charge: (charge) => operate<Outcome>('/charge', charge),
    refund: (refund) => operate<Outcome>('/refund', refund),
    void: (operation) => operate<Outcome>('/void', operation),
    async lookup(lookup) {
      const finding = await operate<LookupOutcome>('/lookup', lookup);
      if (finding.outcome === 'expired') return { outcome: 'unknown', reason: 'the response is not a valid lookup' };
      const asked = finding.outcome !== 'not_sent' && finding.outcome !== 'unavailable';
      return asked ? finding : { outcome: 'unknown', reason: finding.reason };
    },
    close,
  };
}
