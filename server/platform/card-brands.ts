/** Card networks by the prefixes of their numbers, most specific first; lengths as the networks issue them. */

export const brandNames = [
  'amex',
  'diners',
  'jcb',
  'discover',
  'unionpay',
  'mastercard',
  'maestro',
  'visa',
  'unknown',
] as const;
export type BrandName = (typeof brandNames)[number];

interface Brand {
  readonly name: BrandName;
  readonly starts: RegExp;
  readonly lengths: readonly number[];
  readonly cvcLength: number;
}

const brands: readonly Brand[] = [
  { name: 'amex', starts: /^3[47]/, lengths: [15], cvcLength: 4 },
  { name: 'diners', starts: /^(30[0-5]|3095|36|3[89])/, lengths: [14, 16, 19], cvcLength: 3 },
  { name: 'jcb', starts: /^35(2[89]|[3-8])/, lengths: [16, 17, 18, 19], cvcLength: 3 },
  { name: 'discover', starts: /^(6011|64[4-9]|65)/, lengths: [16, 17, 18, 19], cvcLength: 3 },
  { name: 'unionpay', starts: /^62/, lengths: [16, 17, 18, 19], cvcLength: 3 },
  { name: 'mastercard', starts: /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16], cvcLength: 3 },
  { name: 'maestro', starts: /^(50|5[6-9]|6)/, lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvcLength: 3 },
  { name: 'visa', starts: /^4/, lengths: [13, 16, 19], cvcLength: 3 },
];

const unknown: Brand = { name: 'unknown', starts: /^/, lengths: [], cvcLength: 3 };

export function brandOf(digits: string): Brand {
  return brands.find((brand) => brand.starts.test(digits)) ?? unknown;
}

/** The check digit that catches a mistyped number. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 1 ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}
