/** Turns a number as people write it at home into one with a country code. The customer sees the result in the field. */

const callingCodes =
  'AE971 AR54 AT43 AU61 BD880 BE32 BG359 BH973 BR55 BY375 CA1 CH41 CL56 CN86 CO57 CR506 CY357 CZ420 DE49 DK45 DO1 DZ213 ' +
  'EC593 EE372 EG20 ES34 FI358 FR33 GB44 GE995 GH233 GR30 GT502 HK852 HR385 HU36 ID62 IE353 IL972 IN91 IS354 IT39 JO962 ' +
  'JP81 KE254 KR82 KW965 KZ7 LB961 LK94 LT370 LU352 LV371 MA212 MT356 MX52 MY60 NG234 NL31 NO47 NZ64 OM968 PA507 PE51 ' +
  'PH63 PK92 PL48 PR1 PT351 QA974 RO40 RS381 SA966 SE46 SG65 SI386 SK421 TH66 TN216 TR90 TW886 UA380 US1 UY598 VN84 ZA27';

/** In these countries, the zero at the beginning belongs to the number. */
const keepsZero = ['IT'];

const codeOf = (country: string): string | undefined =>
  new RegExp(`\\b${country}(\\d+)`).exec(country.length === 2 ? callingCodes : '')?.[1];

export function withCountryCode(typed: string, country: string): string {
  const text = typed.trim();
  if (text.startsWith('+')) return text;
  if (/^00[1-9]/.test(text)) return `+${text.slice(2)}`;
  const code = codeOf(country);
  const digits = text.replace(/\D/g, '');
  if (!code || digits.length < 6) return text;
  // In North America, the 1 before a number is the country code.
  if (code === '1') return digits.length === 11 && digits.startsWith('1') ? `+${digits}` : `+1 ${text}`;
  return `+${code} ${keepsZero.includes(country) ? text : text.replace(/^\(?0\)?\s*/, '')}`;
}

/** As the service accepts it: a plus, then 7 to 15 digits. */
export const isPhone = (text: string): boolean => /^\+[1-9](?:[ ().-]*[0-9]){6,14}[ ().-]*$/.test(text);
