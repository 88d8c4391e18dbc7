import { Agent, buildConnector, request } from 'undici';
import { traceHeaders } from '../platform/spans.ts';
import { counter } from '../platform/metrics.ts';
import type { Secret } from '../platform/secret.ts';

/** HTTP connections to one or more vaults. */

/** Much shorter than a call, so that an unreachable vault is detected before the call itself times out. */
const connectTimeoutMs = 3_000;
const readyTimeoutMs = 500;
/** A vault that failed is tried after the others for this long. */
const avoidedMs = 5_000;

/** No connection was established, so nothing was sent. */
export class NotConnected extends Error {}

/** The vault did nothing, because it does not accept the token of this process. */
export class TokenRefused extends Error {
  override message = 'the vault refuses our token';
}

const countRefused = counter('svc_vault_tokens_refused_total');

export interface VaultResponse {
  readonly status: number;
  readonly answer: unknown;
}

export interface VaultConnection {
  post(path: string, body: object, withinMs: number): Promise<VaultResponse>;
}

export interface VaultConnections {
  /** Each vault once: those that work come first, in turn. */
  inOrder(): readonly VaultConnection[];
  /** Returns undefined if there is no successful response. */
  get(path: string): Promise<unknown>;
  /** Asks every vault with the token. */
  askAll(path: string): Promise<(VaultResponse | TokenRefused | undefined)[]>;
  close(): Promise<void>;
}

export function openConnections(
  baseUrls: readonly string[],
  credential: Secret<string>,
  onRefused: (baseUrl: string) => void,
): VaultConnections {
  const all = baseUrls.map((baseUrl) => openConnection(baseUrl, credential, () => onRefused(baseUrl)));
  let turn = 0;

  function inOrder(): typeof all {
    turn = (turn + 1) % all.length;
    const rotated = [...all.slice(turn), ...all.slice(0, turn)];
    const [works, failed] = [rotated.filter((one) => !one.isAvoided()), rotated.filter((one) => one.isAvoided())];
    return [...works, ...failed];
  }

  return {
    inOrder,
    async get(path) {
      for (const connection of inOrder()) {
        const answer = await connection.get(path);
        if (answer !== undefined) return answer;
      }
      return undefined;
    },
    askAll: (path) => Promise.all(all.map((connection) => connection.ask(path))),
    async close() {
      await Promise.all(all.map((connection) => connection.close()));
    },
  };
}

function openConnection(baseUrl: string, credential: Secret<string>, onRefused: () => void) {
  const connector = buildConnector({ timeout: connectTimeoutMs });
  const dispatcher = new Agent({
    connect: (options, done) => {
      connector(options, (...[error, socket]) => {
        if (error) done(new NotConnected(error.message), null);
        else if (socket) done(null, socket);
      });
    },
  });
  let avoidedUntilMs = 0;
  /** The next requests go to another vault while this one does not answer. */
  const noting = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    try {
      const received = await answer;
      avoidedUntilMs = 0;
      return received;
    } catch (error) {
      avoidedUntilMs = performance.now() + avoidedMs;
      throw error;
    }
  };

  async function send(path: string, body: object | undefined, withinMs: number): Promise<VaultResponse> {
    const response = await request(new URL(path, baseUrl), {
      method: body ? 'POST' : 'GET',
      dispatcher,
      headers: {
        authorization: `Bearer ${credential.reveal()}`,
        ...(body && { 'content-type': 'application/json', ...traceHeaders() }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(withinMs),
    });
    const { statusCode: status } = response;
    if (status === 200) return { status, answer: await response.body.json() };
    await response.body.dump();
    if (status !== 401) return { status, answer: undefined };
    countRefused({ side: 'caller' });
    onRefused();
    throw new TokenRefused();
  }

  async function get(path: string): Promise<unknown> {
    const signal = AbortSignal.timeout(readyTimeoutMs);
    const response = await request(new URL(path, baseUrl), { dispatcher, signal });
    if (response.statusCode === 200) return response.body.json();
    await response.body.dump();
    throw new Error(`the vault responded with ${response.statusCode}`);
  }

  return {
    isAvoided: () => performance.now() < avoidedUntilMs,
    post: (path: string, body: object, withinMs: number) => noting(send(path, body, withinMs)),
    ask: (path: string) =>
      noting(send(path, undefined, readyTimeoutMs)).catch((error: unknown) =>
        error instanceof TokenRefused ? error : undefined,
      ),
    get: (path: string) => noting(get(path)).catch(() => undefined),
    close: () => dispatcher.close(),
  };
}
