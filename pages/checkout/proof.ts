/**
 * The proof of work that the service asks for while it is under attack: a text n such that the SHA-256 of the
 * challenge, a dot and n begins with `difficulty` zero bits. With its own SHA-256, because the one of the browser answers
 * each hash through a promise, which takes twenty times as long.
 */

const roundConstants = constants(64, (root) => Math.cbrt(root));
const firstState = constants(8, (root) => Math.sqrt(root));

/** The first 32 bits of the fractions of the roots of the first primes, as SHA-256 defines its constants. */
function constants(count: number, root: (prime: number) => number): Uint32Array {
  const found: number[] = [];
  for (let number = 2; found.length < count; number += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) isPrime = false;
    if (isPrime) found.push(((root(number) % 1) * 2 ** 32) >>> 0);
  }
  return new Uint32Array(found);
}

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

/** Adds one block of 64 bytes to the state. */
function compress(state: Uint32Array, words: Uint32Array): void {
  for (let index = 16; index < 64; index += 1) {
    const early = words[index - 15] as number;
    const late = words[index - 2] as number;
    const mixedEarly = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const mixedLate = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    words[index] = (words[index - 16] as number) + mixedEarly + (words[index - 7] as number) + mixedLate;
  }
  // Plain variables: with arrays, each round would create one.
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let index = 0; index < 64; index += 1) {
    const mixedE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const constant = roundConstants[index] as number;
    const first = (h + mixedE + ((e & f) ^ (~e & g)) + constant + (words[index] as number)) | 0;
    const mixedA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (mixedA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  const changes = [a, b, c, d, e, f, g, h];
  for (let index = 0; index < 8; index += 1) state[index] = (state[index] as number) + (changes[index] as number);
}

/** The SHA-256 of ASCII text, as eight words. */
export function sha256(text: string): Uint32Array {
  const state = Uint32Array.from(firstState);
  const words = new Uint32Array(64);
  const blocks = Math.ceil((text.length + 9) / 64);
  for (let block = 0; block < blocks; block += 1) {
    words.fill(0, 0, 16);
    for (let offset = 0; offset < 64; offset += 1) {
      const position = block * 64 + offset;
      const byte = position < text.length ? text.charCodeAt(position) : position === text.length ? 0x80 : 0;
      const word = offset >> 2;
      words[word] = (words[word] as number) | (byte << (24 - (offset % 4) * 8));
    }
    if (block === blocks - 1) words[15] = text.length * 8;
    compress(state, words);
  }
  return state;
}

function leadingZeros(hash: Uint32Array): number {
  let zeros = 0;
  for (const word of hash) {
    zeros += Math.clz32(word);
    if (word !== 0) break;
  }
  return zeros;
}

export function solveProof(challenge: string, difficulty: number): string {
  for (let number = 0; ; number += 1) {
    if (leadingZeros(sha256(`${challenge}.${number}`)) >= difficulty) return String(number);
  }
}
