/** How a tool calls the API: over HTTP from the command line, within the process for `/mcp`. Always with the key of the caller. */

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /** A person has approved this call. */
  readonly isApproved?: true;
}

export interface ApiReply {
  readonly status: number;
  readonly body: unknown;
}

export type CallApi = (request: ApiRequest) => Promise<ApiReply>;

export type Fields = Readonly<Record<string, unknown>>;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** An error of the API, which the client reads as the result of its call. */
export class ToolError extends Error {
  readonly details: Fields;

  constructor(message: string, details: Fields = {}) {
    super(message);
    this.details = details;
  }
}

export async function read(call: CallApi, path: string, query: Query = {}): Promise<Fields> {
  return asked(call, { method: 'GET', path: withQuery(path, query) });
}

export async function asked(call: CallApi, request: ApiRequest): Promise<Fields> {
  return answerOf(await call(request));
}

/** Throws the error of the API. */
export function answerOf({ status, body }: ApiReply): Fields {
  const answer = (typeof body === 'object' && body !== null ? body : {}) as Fields;
  if (status < 300) return answer;
  const { code, message, param, request_id, field_errors, doc_url } = (answer.error ?? {}) as Fields;
  throw new ToolError(typeof message === 'string' ? message : `The service returned ${status}.`, {
    status,
    code,
    param,
    request_id,
    field_errors,
    doc_url,
  });
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

export const rowsOf = (list: Fields): readonly Fields[] => (list.data ?? []) as readonly Fields[];
