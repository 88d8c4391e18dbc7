/** Errors of amounts and percentages. */
export const amounts = {
  invalid: (example: string) => `Enter an amount, for example ${example}.`,
  tooPrecise: (currency: string, decimals: number, example: string) =>
    decimals === 0
      ? `${currency} has no decimals. Enter a whole amount, for example ${example}.`
      : `${currency} has ${decimals} decimals. Enter an amount, for example ${example}.`,
  ambiguous: (text: string, one: string, other: string) =>
    `“${text}” could mean ${one} or ${other}. Enter one of these instead.`,
  otherCurrency: (currency: string, sign: string, example: string) =>
    `This amount is in ${currency}, not in ${sign}. Enter it without a sign, for example ${example}.`,
  tooSmall: 'Enter an amount above zero.',
  invalidPercentage: (least: number) => `Enter a percentage from ${least} to 100, for example 12.5.`,
};
