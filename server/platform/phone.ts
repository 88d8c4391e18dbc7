/** As the ITU writes them (E.164): a plus, the country code, the number, and nothing between. */
export const e164 = (phone: string): string => `+${phone.replace(/\D/g, '')}`;

/** Of the North American numbering plan; undefined for the numbers of other countries. */
export const usNumber = (phone: string): string | undefined => /^\+1\d{10}$/.exec(e164(phone))?.[0];
