/**
 * The currencies of ISO 4217 in use, each with the decimals of its smallest unit: an amount of 1250 is 12.50 in usd,
 * 1,250 in jpy and 1.250 in kwd. Intl is not used, because it lists retired codes and rounds some currencies to whole
 * units.
 */
const codesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf'],
  [
    2,
    'aed afn all amd aoa ars aud awg azn bam bbd bdt bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf cny cop crc cup ' +
      'cve czk dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gtq gyd hkd hnl htg huf idr ils inr irr jmd ' +
      'kes kgs khr kpw kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn ' +
      'nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc ' +
      'syp szl thb tjs tmt top try ttd twd tzs uah usd uyu uzs ved ves wst xcd xcg yer zar zmw zwg',
  ],
  [3, 'bhd iqd jod kwd lyd omr tnd'],
];

export const currencies: ReadonlyMap<string, number> = new Map(
  codesByDecimals.flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, decimals] as const)),
);

/** Returns 2 for an unknown code; requests with an unknown code are rejected elsewhere. */
export function decimalsOf(currency: string): number {
  return currencies.get(currency.trim().toLowerCase()) ?? 2;
}

/** Formats an amount in the smallest unit as whole units: `12.50`, `1250`, `1.250`, `-0.05`. */
export function decimalText(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  if (decimals === 0) return String(amount);
  if (amount < 0) return `-${decimalText(-amount, currency)}`;
  const digits = String(amount).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * Returns an amount like `12.50` in the smallest unit of the currency, without its sign, because a refund may be
 * negative; undefined if it is not an amount.
 */
export function minorUnits(text: string, currency: string): number | undefined {
  const [, whole, fraction = ''] = /^-?(\d{1,12})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  const decimals = decimalsOf(currency);
  if (whole === undefined || !/^0*$/.test(fraction.slice(decimals))) return undefined;
  return Number(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
}
