/** Whatever could be a card number, wherever somebody has put it: 12 digits or more, also in groups. Ids are none. */
const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|evt_[0-9a-f]{32}/gi;
const cardOrId = new RegExp(`(${id.source})|\\d(?:[\\s-]?\\d){11,}`, 'gi');
// In JSON a line break is two characters.
const digitRun = /\d(?:(?:[\s-]|\\[a-z])?\d){11}/;

export function hasCardNumber(text: string): boolean {
  return digitRun.test(text) && digitRun.test(text.replace(id, '#'));
}

export function maskCardNumbers(text: string): string {
  return text.replace(cardOrId, (_, known: string | undefined) => known ?? '***');
}
