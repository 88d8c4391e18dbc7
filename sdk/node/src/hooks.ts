/** Functions of yours that see every attempt of a call, for logs, metrics and traces. An error that they throw ends the call. */

export interface BeforeRequest {
  readonly method: string;
  readonly url: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Add headers here, for example `traceparent`. Those of the SDK replace yours; the key is not in it. */
  readonly headers: Headers;
}

export interface AfterResponse {
  readonly method: string;
  readonly url: string;
  readonly attempt: number;
  readonly durationMs: number;
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly headers: Headers | undefined;
}

export interface Hooks {
  readonly beforeRequest?: ((request: BeforeRequest) => void | Promise<void>) | undefined;
  readonly afterResponse?: ((response: AfterResponse) => void | Promise<void>) | undefined;
}
