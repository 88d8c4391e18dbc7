import { createHash } from 'node:crypto';

/**
 * Search by word prefixes and tags, with one GIN index. Words are split here, because PostgreSQL's parser treats an
 * email address as a single word. Each entry begins with its company, so that a search for a common word never reads
 * another company's entries.
 */

const wordBytesMax = 2_000;

/**
 * PostgreSQL truncates entries over 2,046 bytes in the middle of a character, and case folding can turn one character
 * into six. A hash distinguishes truncated words; such a word is found as a whole, not by prefixes beyond the cut.
 */
function shortened(word: string): string {
  if (Buffer.byteLength(word) <= wordBytesMax) return word;
  return word.slice(0, 400) + createHash('sha256').update(word).digest('hex');
}

function scope(companyId: string): string {
  return companyId.slice(-12);
}

function words(text: string): string[] {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ς', 'σ');
  return (folded.match(/[\p{L}\p{N}]+/gu) ?? []).map(shortened);
}

const wordEntry = (companyId: string, word: string): string => `${scope(companyId)}.${word}`;
const tagEntry = (companyId: string, tag: string): string => `${scope(companyId)}#${tag}`;

export function searchEntries(companyId: string, texts: readonly (string | null)[], tags: readonly string[]): string[] {
  const entries = texts.flatMap((text) => words(text ?? '')).map((word) => wordEntry(companyId, word));
  return [...new Set([...entries, ...tags.map((tag) => tagEntry(companyId, tag))])];
}

const quote = (entry: string): string => `'${entry.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/**
 * Returns a `tsquery` for customers that have every tag and, for each word, a word that begins with it. Text without
 * any word matches no customer, which the empty query expresses.
 */
export function searchQuery(
  companyId: string,
  text: string | undefined,
  tags: readonly string[] | undefined,
): string | undefined {
  if (text === undefined && tags === undefined) return undefined;
  const prefixes = words(text ?? '').map((word) => `${quote(wordEntry(companyId, word))}:*`);
  if (text !== undefined && prefixes.length === 0) return '';
  const exact = (tags ?? []).map((tag) => quote(tagEntry(companyId, tag)));
  return [...prefixes, ...exact].join(' & ');
}

/**
 * Returns a `tsquery` for the search of other lists, which many customers may match: words of one or two letters match whole words
 * only. Undefined for text without any word.
 */
export function ownerQuery(companyId: string, text: string): string | undefined {
  const entries = words(text).map((word) => `${quote(wordEntry(companyId, word))}${word.length > 2 ? ':*' : ''}`);
  return entries.length === 0 ? undefined : entries.join(' & ');
}
