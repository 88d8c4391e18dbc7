import { createHmac, hkdfSync } from 'node:crypto';
import { inspect } from 'node:util';

/** A value that never prints: not in logs, not in JSON, not in a stack. Only `reveal` gives it away. */
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

export type KeyPurpose =
  | 'api-keys'
  | 'card-tokens'
  | 'idempotency'
  | 'file-urls'
  | 'database-role-api'
  | 'database-role-vault';

/** One master secret, one derived key per purpose: a leak of one use says nothing about another. */
export function deriveKey(master: Secret<Buffer>, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', master.reveal(), Buffer.alloc(0), `svc/${purpose}`, 32));
}

export function keyedHash(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
