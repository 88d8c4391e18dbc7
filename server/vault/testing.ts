import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { Secret } from '../platform/secret.ts';
import type { KeyStore } from './key-store.ts';
import { type KeyRing, open } from './keys.ts';
import { findCard } from './queries.ts';
import type { TestService } from '../../tests/support/service.ts';

/** Cards and keys for the tests of the vault. */

export const someNumber = (): string => `4${Array.from({ length: 15 }, () => randomInt(10)).join('')}`;
export const cardWith = (number: string) => ({ number, exp_month: '12', exp_year: '2032', cvc: '9173' });
export const newKey = (): Secret<Buffer> => new Secret(randomBytes(32));
export const newRing = (): KeyRing => ({ current: 1, keys: new Map([[1, newKey()]]), fingerprintKey: newKey() });

/** Opens a stored card the way a charge has to: the row first, then the keys. */
export async function openStored(
  db: TestService['vaultDb'],
  keys: KeyStore,
  companyId: string,
  id: string,
): Promise<string> {
  const card = await findCard(db, companyId, id);
  assert.ok(card, 'the card is not in the vault');
  return open(await keys.ring('sandbox'), companyId, id, card);
}
