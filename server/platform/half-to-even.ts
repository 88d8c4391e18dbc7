/** Divides and rounds to the nearest whole number, a tie to the even one. The numerator is not negative. */
export function halfToEven(numerator: bigint, denominator: bigint): number {
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const isUp = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return Number(isUp ? quotient + 1n : quotient);
}
