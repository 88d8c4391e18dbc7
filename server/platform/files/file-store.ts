export interface FileStore {
  /**
   * Stores a finished file from local disk under `key`, replacing what was there. The source may be gone afterwards
   * (a rename is the cheapest way to store it); the caller unlinks it if it is not.
   */
  put(key: string, sourcePath: string, contentType: string): Promise<void>;
  /** Succeeds when there is nothing to delete, so that it can be repeated. */
  delete(key: string): Promise<void>;
  /** A link that anyone may GET until `ttlSeconds` after `nowMs`. Does not check that the file exists. */
  url(key: string, ttlSeconds: number, nowMs: number): Promise<string>;
}

// S3 refuses longer links; the disk store keeps to the same limit so that changing stores breaks no caller.
const urlTtlSecondsMax = 7 * 24 * 60 * 60;

const keyLengthMax = 512;

// A part neither begins nor ends with a dot: no `..`, no hidden names, and no `a.`, which Windows takes for `a`.
const keyPattern = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*(?:\/[a-z0-9-]+(?:\.[a-z0-9-]+)*)*$/;

const contentTypes = new Map([
  ['jpg', 'image/jpeg'],
  ['png', 'image/png'],
  ['gif', 'image/gif'],
]);

export function isFileKey(key: string): boolean {
  return key.length <= keyLengthMax && keyPattern.test(key);
}

export function assertFileKey(key: string): void {
  if (!isFileKey(key)) throw new TypeError(`Not a file key: ${JSON.stringify(key.slice(0, 100))}`);
}

/** The type a file is served with: always from this list, whatever a client once claimed. */
export function contentTypeOf(key: string): string {
  return contentTypes.get(key.slice(key.lastIndexOf('.') + 1)) ?? 'application/octet-stream';
}

// The disk store keeps no metadata, so the key's extension has to tell the type; hold every store to that.
export function assertContentType(key: string, contentType: string): void {
  const expected = contentTypeOf(key);
  if (contentType !== expected) throw new TypeError(`${key} must have the type ${expected}, not ${contentType}`);
}

export function assertUrlTtl(ttlSeconds: number): void {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > urlTtlSecondsMax) {
    throw new RangeError(`ttlSeconds must be a whole number from 1 to ${urlTtlSecondsMax}, not ${ttlSeconds}`);
  }
}
