/** The responses that objects came with: their request ID, headers and, as the header `ETag`, their version. */

export interface SvcResponse {
  readonly status: number;
  /** Name it when you ask about this request. */
  readonly requestId: string | undefined;
  readonly headers: Headers;
}

const responses = new WeakMap<object, SvcResponse>();

export function keepResponse(object: unknown, response: SvcResponse | undefined): void {
  if (response && typeof object === 'object' && object !== null) responses.set(object, response);
}

export const responseWith = (status: number, headers: Headers): SvcResponse => ({
  status,
  requestId: headers.get('svc-request-id') ?? undefined,
  headers,
});

/**
 * The response of a call that succeeded, from the object or the page that it returned. Undefined for the objects of a page and for
 * copies of an object.
 */
export function responseOf(object: object): SvcResponse | undefined {
  return responses.get(object);
}

/**
 * The version of an object as `get` or `update` has returned it, for the option `ifMatch`. Undefined for objects of lists, for
 * created objects, for copies of an object, and for objects that cannot be changed.
 */
export function versionOf(object: object): string | undefined {
  return responses.get(object)?.headers.get('etag') ?? undefined;
}
