/** Whatever could be a card number, wherever somebody has put it: 12 digits or more, also in groups. Ids are none. */
const cardOrId = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|evt_[0-9a-f]{32})|\d(?:[\s-]?\d){11,}/gi;

export function maskCardNumbers(text: string): string {
  return text.replace(cardOrId, (_, id: string | undefined) => id ?? '***');
}
