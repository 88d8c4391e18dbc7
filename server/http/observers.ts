import type { Company } from '../company.ts';

/** What watches requests after they were answered: the request log and the search for card numbers in texts. */

export interface RequestRecorder {
  record(request: AnsweredRequest): void;
  /** How many bytes of a longer request body the log needs. */
  readonly beginningLength: number;
  /** Writes the remaining entries, if the database accepts them. */
  stop(): Promise<void>;
}

export interface AnsweredRequest {
  readonly company: Pick<Company, 'id' | 'shard'>;
  readonly requestId: string;
  readonly method: string;
  /** The path as it was sent, without the query. */
  readonly path: string;
  readonly query: object | undefined;
  readonly status: number;
  readonly durationMs: number;
  /** An API key, or a member of the team in the dashboard. */
  readonly actor: { readonly kind: 'key' | 'member'; readonly id: string; readonly name: string };
  readonly address: string;
  readonly apiVersion: string | null;
  readonly idempotencyKey: string | null;
  /** The parsed body; undefined if there was none, or a file. */
  readonly requestBody: unknown;
  /** The first `beginningLength` bytes of its text, if it is longer. */
  readonly requestBeginning: string | null;
  readonly responseBody: string | null;
}

export interface CardWatch {
  /** Called for a request that was accepted and answered. */
  look(request: SentRequest): void;
  flush(): Promise<void>;
}

export interface SentRequest {
  readonly company: Pick<Company, 'id' | 'shard'>;
  readonly operation: string;
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}
