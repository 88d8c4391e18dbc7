/** The versions of objects, which the service sends as the header `ETag`. */

const versions = new WeakMap<object, string>();

export function keepVersion(object: unknown, headers: Headers): void {
  const version = headers.get('etag');
  if (version !== null && typeof object === 'object' && object !== null) versions.set(object, version);
}

/**
 * The version of an object as `get` or `update` has returned it, for the option `ifMatch`. Undefined for objects of lists, for
 * created objects, for copies of an object, and for objects that cannot be changed.
 */
export function versionOf(object: object): string | undefined {
  return versions.get(object);
}
