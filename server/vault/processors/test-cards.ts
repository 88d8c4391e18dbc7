import type { KindName } from './kind.ts';
import type { FailureCode } from './processor.ts';

/**
 * The card numbers that the vendors publish for their test environments, and what they promise about some of them. What a test
 * account answers to them is recorded.
 */

/** A payment as it is made at a test account. */
export interface Trial {
  readonly number: string;
  readonly cvc: string;
  /** What the test environment decides by, if it does not decide by the number. */
  readonly holderName?: string;
  /** In cents. Without it, any amount will do. */
  readonly amount?: number;
}

export interface TestEnvironment {
  readonly approved: Trial;
  readonly declined: Trial & { readonly failureCodes: readonly FailureCode[] };
  /** Undefined if a test environment makes no disputes by itself. */
  readonly disputed?: Trial;
  readonly numbers: readonly string[];
}

/** Any future date is right, except at Adyen, which publishes this one. */
export const testExpiry = { exp_month: 3, exp_year: 2030 } as const;

const stripeNumbers = [
  ...['4242424242424242', '4000056655665556', '5555555555554444', '2223003122003222', '5200828282828210'],
  ...['5105105105105100', '378282246310005', '371449635398431', '6011111111111117', '6011000990139424'],
  ...['3056930009020004', '36227206271667', '3566002020360505', '6200000000000005'],
  // Declined.
  ...['4000000000000002', '4000000000009995', '4000000000009987', '4000000000009979', '4000000000000069'],
  ...['4000000000000127', '4000000000000119', '4000000000006975', '4000000000000341'],
  // Disputed; refunds that fail later; authentication required.
  ...['4000000000000259', '4000000000002685', '4000000000001976', '4000000000005423'],
  ...['4000000000007726', '4000000000005126', '4000002500003155', '4000002760003184'],
  ...['4000003800000446', '4000000000003220', '4000008260003178', '4000008400001629'],
];

const nmiNumbers = [
  ...['4111111111111111', '5431111111111111', '5499740000000057', '6011601160116611', '6011000991300009'],
  ...['341111111111111', '30205252489926', '3541963594572595', '6799990100000000019'],
];

const adyenNumbers = [
  ...['4111111145551142', '4111111111111111', '4988438843884305', '4166676667666746', '4646464646464644'],
  ...['4444333322221111', '4400000000000008', '5577000055770004', '5555341244441115', '5101180000000007'],
  ...['2222400070000005', '5100290029002909', '370000000000002', '6011601160116611', '36006666333344'],
];

const stripe: TestEnvironment = {
  approved: { number: '4242424242424242', cvc: '123' },
  declined: { number: '4000000000009995', cvc: '123', failureCodes: ['insufficient_funds'] },
  disputed: { number: '4000000000000259', cvc: '123' },
  numbers: stripeNumbers,
};

/** By kind. An acquirer forwards to the test system of its processor, so it takes the numbers of all of them. */
const environments: Readonly<Record<KindName, TestEnvironment>> = {
  stripe,
  nmi: {
    approved: { number: '4111111111111111', cvc: '999' },
    // NMI declines amounts below one unit of the currency in its test mode, with any card.
    declined: {
      number: '4111111111111111',
      cvc: '999',
      amount: 50,
      failureCodes: ['processor_declined', 'do_not_honor', 'unknown'],
    },
    numbers: nmiNumbers,
  },
  adyen: {
    approved: { number: '4111111145551142', cvc: '737' },
    // Adyen decides by the name of the cardholder in its test environment.
    declined: {
      number: '4111111145551142',
      cvc: '737',
      holderName: 'NOT_ENOUGH_BALANCE',
      failureCodes: ['insufficient_funds'],
    },
    numbers: adyenNumbers,
  },
  acquirer: {
    approved: stripe.approved,
    declined: stripe.declined,
    numbers: [...new Set([...stripeNumbers, ...nmiNumbers, ...adyenNumbers])],
  },
};

const published: ReadonlySet<string> = new Set(environments.acquirer.numbers);

/** Whether a vendor publishes the number for tests, so that no bank has given it to a person. */
export const isPublished = (number: string): boolean => published.has(number);

export const testEnvironmentOf = (kind: KindName): TestEnvironment => environments[kind];
