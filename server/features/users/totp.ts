import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Authenticator codes (RFC 6238: SHA-1, six digits, thirty seconds, which all apps support). */

const stepSeconds = 30;
const digits = 6;
const secretBytes = 20;
/** By how many steps the clocks of both sides may differ. */
const drift = 1;

export const newTotpSecret = (): Buffer => randomBytes(secretBytes);

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

export function otpauthUrl(secret: Buffer, email: string): string {
  const query = new URLSearchParams({ secret: toBase32(secret), issuer: 'svc' });
  return `otpauth://totp/svc:${encodeURIComponent(email)}?${query.toString()}`;
}

export function codeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  const number = (mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

export const stepOf = (nowMs: number): number => Math.floor(nowMs / 1000 / stepSeconds);

/** Returns the step of the code, which must be later than the last step that was used. */
export function matchingStep(secret: Buffer, code: string, nowMs: number, lastStep: number | null): number | undefined {
  const given = Buffer.from(code.replaceAll(/\s/g, ''));
  const now = stepOf(nowMs);
  for (let step = now - drift; step <= now + drift; step += 1) {
    const expected = Buffer.from(codeAt(secret, step));
    const equal = given.length === expected.length && timingSafeEqual(given, expected);
    if (equal && step > (lastStep ?? -1)) return step;
  }
  return undefined;
}
