/** Formats a phone number by E.164: a plus, the country code and the number, without separators. */
export const e164 = (phone: string): string => `+${phone.replace(/\D/g, '')}`;

/** Returns a number of the North American numbering plan; undefined for other countries. */
export const usNumber = (phone: string): string | undefined => /^\+1\d{10}$/.exec(e164(phone))?.[0];
