import { randomBytes } from 'node:crypto';

/** 31 characters that are not mistaken for each other, spoken or in bad print. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

/** Returns the form in which codes are compared. */
export const codeKeyOf = (code: string): string => code.trim().normalize('NFC').toUpperCase();

/** Every letter is drawn independently, so a code cannot be guessed from others. */
export function randomCodes(count: number, prefix: string, length: number): string[] {
  const codes: string[] = [];
  // 248 is the largest multiple of 31 in a byte; using higher values would favour the first letters.
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
