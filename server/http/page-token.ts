import { createHash } from 'node:crypto';
import { randomBase62 } from '../platform/ids.ts';

/**
 * The token in the URL of a page for customers. It names the company, so that the page finds its shard, and ends with
 * 131 random bits. The database has its hash only; the hash needs no key, since no token can be guessed.
 */

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base = BigInt(digits.length);
/** 62^22 is a little more than 2^128. */
const companyLength = 22;
const randomLength = 22;
const addressPattern = new RegExp(`^[0-9A-Za-z]{${companyLength}}$`);
const tokenPattern = new RegExp(`^[0-9A-Za-z]{${companyLength + randomLength}}$`);

export const newPageToken = (companyId: string): string => companyAddress(companyId) + randomBase62(randomLength);

/** The first half of each token of a company: also the address of pages that belong to no customer. */
export function companyAddress(companyId: string): string {
  let rest = BigInt(`0x${companyId.replaceAll('-', '')}`);
  let text = '';
  for (let position = 0; position < companyLength; position += 1) {
    text = digits[Number(rest % base)] + text;
    rest /= base;
  }
  return text;
}

/** Returns undefined if the text cannot be a token. */
export const companyOfToken = (token: string): string | undefined =>
  tokenPattern.test(token) ? companyOfAddress(token.slice(0, companyLength)) : undefined;

/** Returns undefined if the text cannot be the address of a company. */
export function companyOfAddress(address: string): string | undefined {
  if (!addressPattern.test(address)) return undefined;
  let value = 0n;
  for (const digit of address) value = value * base + BigInt(digits.indexOf(digit));
  const hex = value.toString(16).padStart(32, '0');
  if (hex.length > 32) return undefined;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const hashPageToken = (token: string): Buffer => createHash('sha256').update(token).digest();
