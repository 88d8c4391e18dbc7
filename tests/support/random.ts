import fc from 'fast-check';

/**
 * How often a randomized test runs: few times in an ordinary run, twenty times as often with `SVC_TEST_ROUNDS=20 npm
 * test`.
 */
const factor = Number(process.env.SVC_TEST_ROUNDS ?? 1);

export const rounds = (count: number): number => Math.ceil(count * factor);

/** Whether to try every combination; an ordinary run tries a part of them. */
export const isLongRun = factor > 1;

/** Rounds of races between processes: three in an ordinary run, more with `SVC_RACE_ROUNDS=100 npm test …`. */
export const raceRounds = Number(process.env.SVC_RACE_ROUNDS ?? 3);

/**
 * Any characters except lone surrogates. Like fc.string({ unit: 'binary' }), which first takes a second to list them.
 */
export const anyText = (maxLength?: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10ffff)), maxLength === undefined ? {} : { maxLength })
    .map((points) => String.fromCodePoint(...points).toWellFormed());
