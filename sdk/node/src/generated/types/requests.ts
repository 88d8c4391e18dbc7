// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

/** An API key, or a member of the team in the dashboard. */
export type ActorKind = 'key' | 'member';

export interface Actor {
  kind: ActorKind;
  id: string;
  name: string;
}

export interface LoggedRequest {
  /** Its place in the list. */
  id: string;
  /** As the header SVC-Request-Id said. */
  request_id: string;
  method: string;
  path: string;
  status: number;
  duration_ms: number;
  actor: Actor;
  address: string;
  /** When it was answered, by the real clock. */
  created_at: string;
}

export interface LoggedRequestDetails {
  /** Its place in the list. */
  id: string;
  /** As the header SVC-Request-Id said. */
  request_id: string;
  method: string;
  path: string;
  status: number;
  duration_ms: number;
  actor: Actor;
  address: string;
  /** When it was answered, by the real clock. */
  created_at: string;
  /** The parameters by their names, or null. */
  query: unknown;
  api_version: string | null;
  idempotency_key: string | null;
  /** JSON, with cards and secrets as `***`; text where it was cut at 8 KiB; null for none or a file. */
  request_body: unknown;
  /** As `request_body`. */
  response_body: unknown;
}

export interface ListRequestsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
  /** The one with this id. */
  request_id?: string | undefined;
  /** Those with this method. */
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | undefined;
  /** A status, or all of a kind, such as `4xx`. */
  status?: string | undefined;
  /** Those whose path begins so. */
  path?: string | undefined;
  /** Those of this key or team member. */
  actor_id?: string | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
