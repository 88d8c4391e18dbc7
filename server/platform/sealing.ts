import { createCipheriv, createDecipheriv, createSecretKey, KeyObject, randomBytes } from 'node:crypto';

/**
 * Authenticated encryption. The context of a value is authenticated with it, so a copy in another place does not
 * decrypt.
 */

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** The bytes of a key, or the key object of one that is used often. */
type Key = Buffer | KeyObject;

// Node needs 20 µs more for a key in a buffer.
const objectOf = (key: Key): KeyObject => (key instanceof KeyObject ? key : createSecretKey(key));

export function sealBytes(key: Key, plain: Buffer, about: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, objectOf(key), nonce).setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

export function openBytes(key: Key, sealed: Buffer, about: string): Buffer {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, objectOf(key), nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(about))
    .setAuthTag(sealed.subarray(-tagBytes));
  const plain = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
  // Fails if anything was changed. In this mode it has no bytes of its own, and a text costs less than a buffer.
  decipher.final('latin1');
  return plain;
}
