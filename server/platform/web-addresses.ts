/**
 * Recognizes web addresses in text that a stranger typed. Mail programs turn many of them into links, so a stranger could
 * advertise a site in an email or document that a shop sends.
 */

/** Turns the direction of text, or hides a line. Names do not need these. */
const disguise = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
/** Full stops of other scripts, which the compatibility form does not turn into a dot. */
const otherDots = /[。۔ꓸ‧]/g;
const bracketedDot = /\s*[[({<]\s*(?:\.|dot|punkt)\s*[\])}>]\s*/gi;
const bracketedAt = /\s*[[({<]\s*(?:@|at)\s*[\])}>]\s*/gi;
const writtenDot = /\s+dot\s+/g;

/** The text as a mail program or a reader understands it: full-width and styled letters are plain ones. */
const plainForm = (text: string): string =>
  text
    .replace(invisible, '')
    .normalize('NFKC')
    .replace(invisible, '')
    .replace(otherDots, '.')
    .replace(bracketedDot, '.')
    .replace(bracketedAt, '@')
    .replace(writtenDot, '.');

/** `//x`, `www.x`, `x.example/`, `x.example:80`, `x.example?`, `x@y.example`, `mailto:x`. */
const link =
  /\/\/|\\\\|\bwww\.|\.[\p{L}\p{N}][\p{L}\p{N}\p{M}-]+(?:[/\\?#]|:\d)|@[\p{L}\p{N}.-]+\.\p{L}|\b(?:https?|mailto|tel|sms|javascript|data):/iu;

/** Whether the text contains what is clearly a link or an email address. */
export function hasLink(text: string): boolean {
  return disguise.test(text) || link.test(plainForm(text));
}

/** A dot or an at sign directly before a word, a dot between digits, the prefix of international domains, a colon without a blank. */
const address = /[.@][\p{L}\p{N}][\p{L}\p{N}\p{M}-]|@\S|\S@|\p{Nd}\.\p{Nd}|\bxn--|\p{L}:\S/iu;
const phoneDigits = 6;

/**
 * Whether a name reads like an address, a link or a phone number. Some names of people do, for example "St.John", so this
 * decides only whether a name is printed, never whether it is accepted.
 */
export function readsLikeAddress(text: string): boolean {
  if (hasLink(text)) return true;
  const plain = plainForm(text);
  return address.test(plain) || (plain.match(/\p{Nd}/gu)?.length ?? 0) >= phoneDigits;
}

/** The text with a space where a mail program would find an address, for example "tea. example" and "19. 11. 2026". */
export const withoutAddresses = (text: string): string =>
  text.replaceAll(/(?<=[\p{L}\p{N}\p{M}])([.．｡。․])(?=[\p{L}\p{N}])/gu, '$1 ');
