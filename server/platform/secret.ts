import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';

/** A value that never prints: not in logs, not in JSON, not in a stack. Only `reveal` returns it. */
export class Secret<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

/** The purposes whose keys rotate: see service-keys.ts. */
export type DerivedPurpose =
  | 'api-keys'
  | 'card-tokens'
  | 'idempotency'
  | 'file-urls'
  | 'customer-links'
  | 'webhook-secrets'
  | 'kept-answers'
  | 'invitations'
  | 'mails'
  | 'page-links'
  | 'sessions'
  | 'login-attempts'
  | 'totp'
  | 'account-recovery';

/** These keys change only with the master secret. */
type MasterPurpose = 'database-role-api' | 'database-role-vault' | 'secret-check' | 'key-encryption';

/** Derives one key per purpose from the master secret, so that a leak of one key reveals nothing about the others. */
export function deriveKey(master: Secret<Buffer>, purpose: DerivedPurpose | MasterPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', master.reveal(), Buffer.alloc(0), `svc/${purpose}`, 32));
}

/** Node needs 25 µs for a hash with the key in a buffer, and 5 µs with an existing key object. */
const keyObjects = new WeakMap<Buffer, KeyObject>();

/** For keys that are used again and again. */
export function keyObject(key: Buffer): KeyObject {
  const known = keyObjects.get(key);
  if (known) return known;
  const made = createSecretKey(key);
  keyObjects.set(key, made);
  return made;
}

export function keyedHash(key: Buffer, text: string): Buffer {
  return createHmac('sha256', keyObject(key)).update(text).digest();
}

/** In base64url. Node needs half as long for it as for a buffer. */
export function keyedHashText(key: Buffer, text: string): string {
  return createHmac('sha256', keyObject(key)).update(text).digest('base64url');
}
