import { type KeyObject, randomBytes } from 'node:crypto';
import { openBytes, sealBytes } from '../platform/sealing.ts';
import { keyedHashText, keyObject, type Secret } from '../platform/secret.ts';

/** The versions of the key-encryption key and the fingerprint key of one mode. Sandbox and live never share keys. */
export interface KeyRing {
  readonly current: number;
  readonly keys: ReadonlyMap<number, Secret<Buffer>>;
  readonly fingerprintKey: Secret<Buffer>;
}

export interface SealedCard {
  readonly keyVersion: number;
  readonly wrappedKey: Buffer;
  readonly sealed: Buffer;
}

/** Company and card are authenticated with every value: a row copied to another company or card does not decrypt. */
const about = (companyId: string, cardId: string, part: string): string => `${companyId}|${cardId}|${part}`;

function keyOf(ring: KeyRing, version: number): KeyObject {
  const key = ring.keys.get(version);
  if (!key) throw new Error(`the vault has no key-encryption key of version ${version}`);
  return keyObject(key.reveal());
}

export function seal(ring: KeyRing, companyId: string, cardId: string, digits: string): SealedCard {
  const dataKey = randomBytes(32);
  const sealed = sealBytes(dataKey, Buffer.from(digits), about(companyId, cardId, 'number'));
  const wrappedKey = wrap(ring, companyId, cardId, dataKey, ring.current);
  dataKey.fill(0);
  return { keyVersion: ring.current, wrappedKey, sealed };
}

function wrap(ring: KeyRing, companyId: string, cardId: string, dataKey: Buffer, version: number): Buffer {
  return sealBytes(keyOf(ring, version), dataKey, about(companyId, cardId, String(version)));
}

function unwrap(ring: KeyRing, companyId: string, cardId: string, card: SealedCard): Buffer {
  return openBytes(keyOf(ring, card.keyVersion), card.wrappedKey, about(companyId, cardId, String(card.keyVersion)));
}

export function open(ring: KeyRing, companyId: string, cardId: string, card: SealedCard): string {
  const dataKey = unwrap(ring, companyId, cardId, card);
  const digits = openBytes(dataKey, card.sealed, about(companyId, cardId, 'number')).toString();
  dataKey.fill(0);
  return digits;
}

/** Wraps the same data key again; the card number itself is not decrypted. */
export function rewrap(ring: KeyRing, companyId: string, cardId: string, card: SealedCard): SealedCard {
  const dataKey = unwrap(ring, companyId, cardId, card);
  const wrappedKey = wrap(ring, companyId, cardId, dataKey, ring.current);
  dataKey.fill(0);
  return { ...card, keyVersion: ring.current, wrappedKey };
}

/** The same card of the same company has the same fingerprint; across companies, fingerprints differ. */
export function fingerprint(ring: KeyRing, companyId: string, digits: string): string {
  return keyedHashText(ring.fingerprintKey.reveal(), `${companyId}|${digits}`).slice(0, 22);
}
