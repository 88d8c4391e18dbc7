import { openBytes, sealBytes } from './sealing.ts';
import { deriveKey, type DerivedPurpose, keyedHash, keyedHashText, type Secret } from './secret.ts';

/** The keys of one purpose, for example of sessions. They change while the service runs; see key-ring.ts. */
export interface ServiceKey {
  /** Returns a keyed hash, with the current key. */
  hash(text: string): Buffer;
  /** Returns the hashes that a stored value may have: with the current key, then with earlier ones that are still valid. */
  hashes(text: string): Buffer[];
  /** The same hashes in base64url. */
  hashTexts(text: string): string[];
  /** Encrypts with the current key. What `about` says is authenticated: it must be the same to decrypt. */
  seal(plain: Buffer, about: string): Buffer;
  /** Decrypts what any known key has encrypted. */
  open(sealed: Buffer, about: string): Buffer;
}

export type ServiceKeys = Readonly<Record<DerivedPurpose, ServiceKey>>;

/** One key of a purpose. */
export interface KnownKey {
  readonly id: number;
  readonly bytes: Buffer;
  /** What an original key encrypted does not name the key. */
  readonly original: boolean;
}

const mark = Buffer.from('SK');
const prefixBytes = mark.length + 4;

/** Returns the beginning of everything that the key encrypts; nothing for an original key. */
export function prefixOf({ id, original }: Pick<KnownKey, 'id' | 'original'>): Buffer {
  if (original) return Buffer.alloc(0);
  const prefix = Buffer.alloc(prefixBytes);
  mark.copy(prefix);
  prefix.writeUInt32BE(id, mark.length);
  return prefix;
}

class UnknownKeyError extends Error {}

/** `keys` returns the current key first, then the pending key and the earlier ones. */
export function serviceKey(keys: () => readonly [KnownKey, ...KnownKey[]]): ServiceKey {
  return {
    hash: (text) => keyedHash(keys()[0].bytes, text),
    hashes: (text) => keys().map(({ bytes }) => keyedHash(bytes, text)),
    hashTexts: (text) => keys().map(({ bytes }) => keyedHashText(bytes, text)),
    seal(plain, about) {
      const [current] = keys();
      return Buffer.concat([prefixOf(current), sealBytes(current.bytes, plain, about)]);
    },
    open(sealed, about) {
      const known = keys();
      const named = known.find((key) => !key.original && sealed.subarray(0, prefixBytes).equals(prefixOf(key)));
      if (named) return openBytes(named.bytes, sealed.subarray(prefixBytes), about);
      const original = known.find((key) => key.original);
      if (!original) throw new UnknownKeyError('a value is encrypted with a key that this process does not know');
      return openBytes(original.bytes, sealed, about);
    },
  };
}

const purposes: Readonly<Record<DerivedPurpose, true>> = {
  'api-keys': true,
  'card-tokens': true,
  idempotency: true,
  'file-urls': true,
  'customer-links': true,
  'webhook-secrets': true,
  'kept-answers': true,
  invitations: true,
  mails: true,
  'page-links': true,
  sessions: true,
  'login-attempts': true,
  totp: true,
  'account-recovery': true,
};
export const keyPurposes = Object.keys(purposes) as readonly DerivedPurpose[];

/** Keys that are derived from the master secret and never change: the keys of a database without a rotation. */
export function originalKeys(master: Secret<Buffer>): ServiceKeys {
  const keyOf = (purpose: DerivedPurpose): ServiceKey => {
    const only: readonly [KnownKey] = [{ id: 0, bytes: deriveKey(master, purpose), original: true }];
    return serviceKey(() => only);
  };
  return Object.fromEntries(keyPurposes.map((purpose) => [purpose, keyOf(purpose)])) as ServiceKeys;
}
