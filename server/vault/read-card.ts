import type { Mode } from '../company.ts';
import type { FieldError } from '../errors.ts';
import { type BrandName, brandOf, passesLuhn } from '../platform/card-brands.ts';
import { hourMs } from '../platform/durations.ts';
import { CardNumber } from './card-number.ts';
import { isPublished } from './processors/test-cards.ts';

/** The card as the client sent it. It exists only during one call. */
export interface RawCard {
  readonly number: string;
  readonly exp_month: string | number;
  readonly exp_year: string | number;
  readonly cvc: string;
}

/** A card that can be stored. The CVC was checked and discarded. */
export interface Card {
  readonly number: CardNumber;
  readonly brand: BrandName;
  readonly last4: string;
  readonly expMonth: number;
  readonly expYear: number;
  /** Whether the processor requires a billing address for this card. */
  readonly requiresBilling: boolean;
}

/** The sandbox card that requires a billing address. */
const billingRequiredNumber = '4000009999001000';

/** Reports format errors per field and never repeats the input. */
export function readCard(raw: RawCard, mode: Mode, nowMs: number): Card | { problems: FieldError[] } {
  const digits = digitsOf(raw);
  const brand = brandOf(digits);
  const expMonth = Number(raw.exp_month);
  const expYear = fullYear(String(raw.exp_year));
  const problems = [
    problem('card.number', numberProblem(digits, mode)),
    problem(
      'card.exp_month',
      Number.isInteger(expMonth) && expMonth >= 1 && expMonth <= 12 ? undefined : 'must be from 1 to 12',
    ),
    problem('card.exp_year', expYear === undefined ? 'must be a year, for example 2030' : undefined),
    problem('card.cvc', cvcProblem(raw.cvc, brand.cvcLength, mode)),
  ].filter((entry) => entry !== undefined);
  if (problems.length > 0 || expYear === undefined) return { problems };
  if (isPast(expMonth, expYear, nowMs)) {
    return {
      problems: [
        { field: 'card.exp_year', code: 'invalid_value', message: 'must be in the future. The card has expired' },
      ],
    };
  }
  const requiresBilling = mode === 'sandbox' && digits === billingRequiredNumber;
  return {
    number: new CardNumber(digits),
    brand: brand.name,
    last4: digits.slice(-4),
    expMonth,
    expYear,
    requiresBilling,
  };
}

/** Returns only the number, even if other fields are invalid; undefined if it cannot be a card number. */
export function readNumber(raw: RawCard, mode: Mode): CardNumber | undefined {
  const digits = digitsOf(raw);
  return numberProblem(digits, mode) === undefined ? new CardNumber(digits) : undefined;
}

const digitsOf = ({ number }: RawCard): string => number.replace(/[ -]/g, '');

function problem(field: string, message: string | undefined): FieldError | undefined {
  return message === undefined ? undefined : { field, code: 'invalid_value', message };
}

const noRealCards =
  'must be a number that Stripe, NMI or Adyen publishes for tests. A rehearsal neither stores nor sends real cards';

/** Sandbox numbers may be fictitious; live numbers must be valid; those of a rehearsal must belong to no person. */
function numberProblem(digits: string, mode: Mode): string | undefined {
  if (!/^\d{12,19}$/.test(digits)) return 'must have 12 to 19 digits';
  if (mode === 'sandbox') return undefined;
  if (mode === 'rehearsal') return isPublished(digits) ? undefined : noRealCards;
  const { lengths } = brandOf(digits);
  if (lengths.length > 0 && !lengths.includes(digits.length))
    return 'does not have the right number of digits for this card network';
  return passesLuhn(digits) ? undefined : 'is not a valid card number. Check the digits';
}

function cvcProblem(cvc: string, length: number, mode: Mode): string | undefined {
  if (!/^\d{3,4}$/.test(cvc)) return 'must have 3 or 4 digits';
  return mode !== 'sandbox' && cvc.length !== length ? `must have ${length} digits for this card` : undefined;
}

function fullYear(text: string): number | undefined {
  if (/^\d{2}$/.test(text)) return 2000 + Number(text);
  return /^20\d{2}$/.test(text) ? Number(text) : undefined;
}

/** A card is valid until the end of its expiry month in the last time zone of the world. */
export function isPast(month: number, year: number, nowMs: number): boolean {
  const twelveHoursMs = 12 * hourMs;
  return nowMs >= Date.UTC(year, month, 1) + twelveHoursMs;
}
