import { randomBytes } from 'node:crypto';

/** 31 characters that are not taken for one another, read aloud or in bad print. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

/** How codes are compared. */
export const codeKeyOf = (code: string): string => code.trim().normalize('NFC').toUpperCase();

/** Nobody can guess one from others: every letter is drawn by itself. */
export function randomCodes(count: number, prefix: string, length: number): string[] {
  const codes: string[] = [];
  // 248 is the largest multiple of 31 in a byte; taking more would favour the first letters.
  let bytes = randomBytes(0);
  let at = 0;
  const letter = (): string => {
    for (;;) {
      if (at >= bytes.length) {
        bytes = randomBytes(8_192);
        at = 0;
      }
      const byte = bytes[at] ?? 255;
      at += 1;
      if (byte < 248) return letters[byte % 31] ?? '';
    }
  };
  while (codes.length < count) codes.push(codeKeyOf(prefix) + Array.from({ length }, letter).join(''));
  return codes;
}
