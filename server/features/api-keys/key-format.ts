import { crc32 } from 'node:zlib';
import { randomBase62, toBase62 } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import type { Company } from '../../company.ts';

/**
 * A key is `svc_test_sk_` + 12 characters for the lookup + 43 secret characters (256 bits) + 6 of checksum, all
 * base62.
 */

export type KeyKind = 'secret' | 'publishable';

const lookupLength = 12;
const secretLength = 43;
const checksumLength = 6;
const pattern = new RegExp(
  `^svc_(test|rehearsal|live)_(sk|pk)_([0-9A-Za-z]{${lookupLength}})([0-9A-Za-z]{${secretLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

export interface ParsedKey {
  readonly lookupId: string;
  readonly secret: Secret<string>;
}

const checksum = (text: string): string => toBase62(crc32(text), checksumLength);

export const keyPrefix = (mode: Company['mode'], kind: KeyKind): string =>
  `svc_${mode === 'sandbox' ? 'test' : mode}_${kind === 'secret' ? 'sk' : 'pk'}_`;

export function generateKey(mode: Company['mode'], kind: KeyKind): ParsedKey & { readonly text: Secret<string> } {
  const lookupId = randomBase62(lookupLength);
  const body = keyPrefix(mode, kind) + lookupId + randomBase62(secretLength);
  const text = body + checksum(body);
  return { lookupId, secret: new Secret(text), text: new Secret(text) };
}

/** The checksum distinguishes a mistyped key from an unknown one without a database query. */
export function parseKey(text: string): ParsedKey | undefined {
  const match = pattern.exec(text);
  if (!match || checksum(text.slice(0, -checksumLength)) !== match[5]) return undefined;
  return { lookupId: match[3] ?? '', secret: new Secret(text) };
}
