import { errorCode } from '../platform/error-code.ts';
import type { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import { remoteSetUps } from './card-setups.ts';
import {
  NotConnected,
  openConnections,
  TokenRefused,
  type VaultConnection,
  type VaultConnections,
  type VaultResponse,
} from './connections.ts';
import type { LookupOutcome, Outcome, ResumeOutcome } from './processors/processor.ts';
import { statePath, type VaultAnswer, vaultAnswer, vaultHealth, type VaultState, vaultState } from './server.ts';
import type { NewConnection } from './processors/connections.ts';
import type { DefenseReasons, DisputeOutcome } from './processors/notices.ts';
import type { BankPage } from './processors/sandbox/challenge-queries.ts';
import { VaultUnavailable } from './unavailable.ts';
import type { CardVerification, RejectedVerification, Vault, VaultOutcome } from './vault.ts';

const timeoutMs = 10_000;
/** Few answers of processors take longer. Those are looked up. */
const operationTimeoutMs = 20_000;

const brokenConnection = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

/** The status code with which the vault rejects a request before it does anything. */
const invalidStatus = 400;

interface Calls {
  call(path: string, body: object, mayRepeat: boolean): Promise<VaultAnswer>;
  operate<Result extends { readonly outcome: string }>(
    path: string,
    body: object,
    mayRepeat?: boolean,
  ): Promise<Result | VaultOutcome>;
}

/**
 * Calls one vault after the other, until one has answered: the next after a failed connection or a refused token always,
 * since nothing was done, and otherwise only for calls that may be repeated.
 */
function callsTo(connections: VaultConnections): Calls {
  async function call(path: string, body: object, mayRepeat: boolean): Promise<VaultAnswer> {
    for (const connection of connections.inOrder()) {
      try {
        const { answer } = await connection.post(path, body, timeoutMs);
        if (vaultAnswer.Check(answer)) return answer;
        if (!mayRepeat) break;
      } catch (error) {
        // The original error may quote the request, so it is not passed on.
        if (!(error instanceof NotConnected || error instanceof TokenRefused) && !mayRepeat) break;
      }
    }
    throw new VaultUnavailable();
  }

  /**
   * The operation certainly did not reach the processor only if no connection was established, or the vault rejected
   * the request or reports so itself.
   */
  async function operateAt<Result>(
    connection: VaultConnection,
    path: string,
    body: object,
  ): Promise<Result | VaultOutcome> {
    let isInterrupted = false;
    try {
      const { status, answer } = await connection.post(path, body, operationTimeoutMs);
      if (status === invalidStatus) return { outcome: 'unavailable', reason: `the vault responded with ${status}` };
      if (vaultAnswer.Check(answer) && answer.outcome) return answer.outcome as Result;
    } catch (error) {
      if (error instanceof NotConnected) return { outcome: 'unavailable', reason: 'the vault is unreachable' };
      if (error instanceof TokenRefused) return { outcome: 'unavailable', reason: error.message };
      // A vault that is late may wait for the processor. One that breaks the connection has probably stopped.
      isInterrupted = brokenConnection.includes(errorCode(error) ?? '');
    }
    return { outcome: 'unknown', reason: 'the vault did not respond', ...(isInterrupted && { isInterrupted }) };
  }

  async function operate<Result extends { readonly outcome: string }>(
    path: string,
    body: object,
    mayRepeat = false,
  ): Promise<Result | VaultOutcome> {
    let last: Result | VaultOutcome = { outcome: 'unavailable', reason: 'there is no vault' };
    for (const connection of connections.inOrder()) {
      last = await operateAt<Result>(connection, path, body);
      const isNext = last.outcome === 'unavailable' || (mayRepeat && last.outcome === 'unknown');
      // What the processor said is not lost, and not asked again of a vault that would act on it.
      if (!isNext || isSaid(last)) break;
    }
    return last;
  }

  return { call, operate };
}

const isSaid = (answer: object): boolean => 'refusesCredentials' in answer && answer.refusesCredentials === true;

const silent: VaultState = { problem: 'the vault does not respond', processor_problem: null };

function stateOf(response: VaultResponse | TokenRefused | undefined): VaultState {
  if (response instanceof TokenRefused) return { problem: response.message, processor_problem: null };
  if (vaultState.Check(response?.answer)) return response.answer;
  // A vault of an older version accepts the token and does not know the path.
  return response?.status === 404 ? { problem: null, processor_problem: null } : silent;
}

/** If none can be used, an operator first reads of one that answers. */
const worstOf = (found: readonly VaultState[]): string | undefined =>
  (found.find(({ problem }) => problem !== silent.problem) ?? silent).problem ?? undefined;

/** The vault in other processes. A response that the vault did not send counts as no response. */
export function remoteVault(
  baseUrls: readonly string[],
  credential: Secret<string>,
  onRefused: (baseUrl: string) => void = () => undefined,
): Vault {
  const connections = openConnections(baseUrls, credential, onRefused);
  const { call, operate } = callsTo(connections);
  return {
    async store({ companyId, cardId, mode, number, verification, securityCode }) {
      const card = {
        company_id: companyId,
        card_id: cardId,
        mode,
        number: CardNumber.open(number),
        ...(verification && { verification: { ...verification, cvc: verification.cvc.reveal() } }),
        ...(securityCode && { security_code: securityCode.reveal() }),
      };
      // A second attempt would find the card that the first one stored, and fail.
      const { result, rejected } = await call('/store', card, false);
      // A vault of an older version does not say what a verification found.
      return (rejected ?? result ?? null) as CardVerification | RejectedVerification | null;
    },
    async fingerprint(companyId, mode, number) {
      const card = { company_id: companyId, mode, number: CardNumber.open(number) };
      const answer = await call('/fingerprint', card, true);
      if (!answer.fingerprint) throw new VaultUnavailable();
      return answer.fingerprint;
    },
    async remove(cards) {
      const removed = cards.map((card) => ({ company_id: card.companyId, card_id: card.cardId }));
      const { result } = await call('/remove', { cards: removed }, true);
      // A vault of an older version saves no cards at processors.
      return Array.isArray(result) ? (result as { companyId: string; cardId: string }[]) : [];
    },
    operations: async (wanted) => (await call('/operations', wanted, true)).listing,
    ...connectionCalls(async (path, body, mayRepeat = true) => (await call(path, body, mayRepeat)).result),
    ...remoteSetUps(async (path, body) => (await call(path, body, true)).result),
    async health() {
      const found = (await connections.askAll(statePath)).map(stateOf);
      return {
        problem: found.some(({ problem }) => problem === null) ? undefined : worstOf(found),
        processorProblem: found.find((state) => state.processor_problem)?.processor_problem ?? undefined,
      };
    },
    async nowMs() {
      const answer = await connections.get('/healthz');
      return vaultHealth.Check(answer) ? answer.now_ms : undefined;
    },
    charge: (charge) => operate<Outcome>('/charge', charge),
    authorize: (charge) => operate<Outcome>('/authorize', charge),
    capture: (capture) => operate<Outcome>('/capture', capture),
    refund: (refund) => operate<Outcome>('/refund', refund),
    void: (operation) => operate<Outcome>('/void', operation),
    async lookup(lookup) {
      const finding = await operate<LookupOutcome>('/lookup', lookup, true);
      if (finding.outcome === 'expired' || finding.outcome === 'needs_customer')
        return { outcome: 'unknown', reason: 'the response is not a valid lookup' };
      const asked = finding.outcome !== 'not_sent' && finding.outcome !== 'unavailable';
      return asked ? finding : { outcome: 'unknown', reason: finding.reason };
    },
    async resume(request) {
      // A vault of the release before does not know the path, and says nothing.
      const finding = await operate<ResumeOutcome>('/resume', request, true);
      if (finding.outcome === 'expired') return { outcome: 'unknown', reason: 'the response is not valid' };
      const asked = finding.outcome !== 'not_sent' && finding.outcome !== 'unavailable';
      return asked ? finding : { outcome: 'unknown', reason: finding.reason };
    },
    async sandboxBank(request) {
      const { result } = await call('/sandbox-bank', request, true);
      return (result ?? undefined) as BankPage | undefined;
    },
    close: connections.close,
  };
}

type ConnectionCalls = Pick<
  Vault,
  | 'connect'
  | 'forget'
  | 'test'
  | 'receive'
  | 'poll'
  | 'release'
  | 'acceptDispute'
  | 'defenseReasons'
  | 'submitEvidence'
  | 'verification'
>;

/** The calls whose answers only this version of the vault gives, so that their shape is not checked again. */
function connectionCalls(ask: (path: string, body: object, mayRepeat?: boolean) => Promise<unknown>): ConnectionCalls {
  const asked = async <Result>(path: string, body: object, mayRepeat?: boolean): Promise<Result> =>
    // JSON has no undefined: null stands for it.
    ((await ask(path, body, mayRepeat)) ?? undefined) as Result;
  const plain = (connection: NewConnection) => ({ ...connection, configuration: connection.configuration.reveal() });
  return {
    connect: (connection) => asked('/connections/save', plain(connection)),
    forget: (connection) => asked('/connections/forget', connection),
    test: (connection) => asked('/connections/test', 'configuration' in connection ? plain(connection) : connection),
    receive: ({ headers, body, ...key }) =>
      asked('/receive', { ...key, headers: defined(headers), body: body.toString('base64') }),
    poll: (request) => asked('/poll', request),
    release: (request) => asked('/release', request),
    // A lost answer leaves open whether the processor was called: the caller asks the person to look.
    acceptDispute: (request) => asked<DisputeOutcome>('/accept-dispute', request, false).catch(() => lost),
    defenseReasons: (request) => asked<DefenseReasons>('/defense-reasons', request).catch(() => lost),
    // A vault of an earlier version would choose a reason itself. It does not know the second path.
    submitEvidence: (request) =>
      asked<DisputeOutcome>(
        request.defense ? '/submit-defense' : '/submit-evidence',
        { ...request, files: request.files.map((file) => ({ ...file, content: file.content.toString('base64') })) },
        false,
      ).catch(() => lost),
    verification: async (card) => (await asked<CardVerification | undefined>('/verification', card)) ?? null,
  };
}

const lost = { outcome: 'unknown', reason: 'the vault did not respond' } as const;

const defined = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
