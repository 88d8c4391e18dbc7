/** The networks of cards by the beginnings of their numbers: the one table for the service, the card fields and the pages. */

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
  /** As the API calls it. Networks of one country, which its versions do not name, are `unknown`. */
  readonly name: BrandName;
  /** As people call it; empty if it is not known. */
  readonly network: string;
  readonly lengths: readonly number[];
  readonly cvcLength: number;
}

interface Range extends Brand {
  /** `34 37 300-305`: first digits, or the first and the last of a range with as many digits. */
  readonly starts: string;
}

const sixteen = [16];
const upToNineteen = [16, 17, 18, 19];

/**
 * The first that fits counts, so networks whose ranges lie within those of another come first. Their cards are not
 * charged as those of the other network, for example an Elo card that begins with 4.
 */
const ranges: readonly Range[] = [
  {
    ...{ name: 'unknown', network: 'Elo', lengths: sixteen, cvcLength: 3 },
    starts:
      '401178-401179 431274 438935 451416 457393 457631-457632 504175 506699-506778 509000-509999 627780 636297 ' +
      '636368-636369 650031-650033 650035-650051 650405-650439 650485-650538 650541-650598 650700-650718 650720-650727 ' +
      '650901-650978 651652-651679 655000-655019 655021-655058',
  },
  {
    ...{ name: 'unknown', network: 'Hipercard', lengths: [13, 16, 19], cvcLength: 3 },
    starts: '384100 384140 384160 606282 637095 637568 637599 637609 637612',
  },
  {
    ...{ name: 'unknown', network: 'Verve', lengths: [16, 18, 19], cvcLength: 3 },
    starts: '506099-506198 507865-507964 650002-650027',
  },
  {
    ...{ name: 'unknown', network: 'RuPay', lengths: sixteen, cvcLength: 3 },
    starts: '353800 508227 508500-508999 603741 606985-607984 608001-608500 652150-653149 817290 817368 817378',
  },
  { name: 'unknown', network: 'Mir', lengths: upToNineteen, cvcLength: 3, starts: '2200-2204' },
  { name: 'unknown', network: 'Troy', lengths: sixteen, cvcLength: 3, starts: '9792' },
  { name: 'unknown', network: 'Dankort', lengths: sixteen, cvcLength: 3, starts: '5019' },
  { name: 'amex', network: 'American Express', lengths: [15], cvcLength: 4, starts: '34 37' },
  {
    ...{ name: 'diners', network: 'Diners Club', lengths: [14, 16, 19], cvcLength: 3 },
    starts: '300-305 3095 36 38 39',
  },
  { name: 'jcb', network: 'JCB', lengths: upToNineteen, cvcLength: 3, starts: '3528-3529 353-358' },
  { name: 'discover', network: 'Discover', lengths: upToNineteen, cvcLength: 3, starts: '6011 644-649 65' },
  { name: 'unionpay', network: 'UnionPay', lengths: upToNineteen, cvcLength: 3, starts: '62 8100-8171' },
  {
    ...{ name: 'mastercard', network: 'Mastercard', lengths: sixteen, cvcLength: 3 },
    starts: '51-55 2221-2229 223-229 23-26 270-271 2720',
  },
  {
    ...{ name: 'maestro', network: 'Maestro', lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvcLength: 3 },
    starts: '50 56-59 6',
  },
  { name: 'visa', network: 'Visa', lengths: [13, 16, 19], cvcLength: 3, starts: '4' },
];

/** By the number of first digits, then by these digits: a look, not a search. The first range wins. */
const byDigits = new Map<number, Map<string, number>>();
for (const [place, { starts }] of ranges.entries()) {
  for (const [first = '', last = first] of starts.split(' ').map((part) => part.split('-'))) {
    const known = byDigits.get(first.length) ?? new Map<string, number>();
    byDigits.set(first.length, known);
    for (let digits = Number(first); digits <= Number(last); digits += 1) {
      if (!known.has(String(digits))) known.set(String(digits), place);
    }
  }
}

const unknown: Brand = { name: 'unknown', network: '', lengths: [], cvcLength: 3 };

export function brandOf(digits: string): Brand {
  let found = ranges.length;
  for (const [count, known] of byDigits) {
    if (digits.length >= count) found = Math.min(found, known.get(digits.slice(0, count)) ?? found);
  }
  return ranges[found] ?? unknown;
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
