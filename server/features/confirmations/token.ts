import { createHash, timingSafeEqual } from 'node:crypto';
import { companyAddress, companyOfAddress } from '../../http/page-token.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

/**
 * The token in the URL of the page where a customer confirms one payment. It names the company and the order, and is signed, so
 * that nothing about it is stored.
 */

/** As `companyAddress` writes 128 bits. */
const partLength = 22;
const tokenPattern = /^[0-9A-Za-z]{66}$/;

const partsOf = (token: string): string[] => token.match(/.{22}/g) ?? [];

const signedText = (companyId: string, orderId: string): string => `confirm ${companyId} ${orderId}`;

/** 128 bits of the keyed hash, as an ID is written. */
const signatureOf = (hash: Buffer): string => companyAddress(hash.subarray(0, 16).toString('hex'));

const tokenOf = (hash: Buffer, companyId: string, orderId: string): string =>
  companyAddress(companyId) + companyAddress(orderId) + signatureOf(hash);

const confirmationToken = (key: ServiceKey, companyId: string, orderId: string): string =>
  tokenOf(key.hash(signedText(companyId, orderId)), companyId, orderId);

export const confirmationUrl =
  (key: ServiceKey, baseUrl: string) =>
  (companyId: string, orderId: string): string =>
    `${baseUrl}/confirm/${confirmationToken(key, companyId, orderId)}`;

/** Returns undefined if the text cannot be such a token. */
export const companyOfConfirmation = (token: string): string | undefined =>
  tokenPattern.test(token) ? companyOfAddress(token.slice(0, partLength)) : undefined;

/** Returns undefined if the token was not signed here. */
export function orderOfConfirmation(key: ServiceKey, companyId: string, token: string): string | undefined {
  const orderId = companyOfAddress(partsOf(token)[1] ?? '');
  if (orderId === undefined) return undefined;
  const given = digest(token);
  const expected = key.hashes(signedText(companyId, orderId)).map((hash) => digest(tokenOf(hash, companyId, orderId)));
  return expected.some((one) => timingSafeEqual(one, given)) ? orderId : undefined;
}

/** Texts of the same length, to be compared. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
