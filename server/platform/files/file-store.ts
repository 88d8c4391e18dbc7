export interface FileStore {
  /**
   * Stores a finished file from local disk under `key`, replacing an existing file. The source may be gone
   * afterwards, since a rename is the cheapest way to store it; the caller deletes it if it still exists.
   */
  put(key: string, sourcePath: string, contentType: string): Promise<void>;
  /** Succeeds if there is nothing to delete, so that it can be repeated. */
  delete(key: string): Promise<void>;
  /** Returns a link that anyone may GET until `ttlSeconds` after `nowMs`. Does not check that the file exists. */
  url(key: string, ttlSeconds: number, nowMs: number): Promise<string>;
  /** The origin of these links, for pages that show the files. */
  readonly origin: string;
}

// S3 rejects longer links. The disk store has the same limit, so that changing stores breaks no caller.
const urlTtlSecondsMax = 7 * 24 * 60 * 60;

const keyLengthMax = 512;

// A part neither begins nor ends with a dot. This excludes `..`, hidden names, and `a.`, which Windows treats as `a`.
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

/**
 * Returns the content type a file is served with. It always comes from this list, not from the client that uploaded
 * the file.
 */
export function contentTypeOf(key: string): string {
  return contentTypes.get(key.slice(key.lastIndexOf('.') + 1)) ?? 'application/octet-stream';
}

// The disk store keeps no metadata, so the key's extension determines the type. Every store follows the same rule.
export function assertContentType(key: string, contentType: string): void {
  const expected = contentTypeOf(key);
  if (contentType !== expected) throw new TypeError(`${key} must have the type ${expected}, not ${contentType}`);
}

export function assertUrlTtl(ttlSeconds: number): void {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > urlTtlSecondsMax) {
    throw new RangeError(`ttlSeconds must be a whole number from 1 to ${urlTtlSecondsMax}, not ${ttlSeconds}`);
  }
}
