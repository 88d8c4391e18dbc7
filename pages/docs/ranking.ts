/** Which entries of the docs a search finds, the best first. */

export interface SearchEntry {
  readonly title: string;
  readonly detail: string;
  readonly address: string;
  readonly text: string;
}

const resultsMax = 20;

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** `refunds` and `refunded` begin with `refund`; so does `refund`, but `prefund` does not. */
const stemOf = (word: string): string => (word.length > 3 ? word.replace(/(?:ies|es|s|ing|ed|ly|e)$/, '') : word);

/** Words that readers use for those of the docs. */
const synonyms: Readonly<Record<string, string>> = {
  reimburse: 'refund',
  voucher: 'coupon',
  promo: 'coupon',
  promotion: 'coupon',
  discount: 'coupon',
  recurring: 'subscription',
  membership: 'subscription',
  invoice: 'receipt',
  mail: 'email',
  chargeback: 'dispute',
  callback: 'webhook',
  hook: 'webhook',
  client: 'customer',
  buyer: 'customer',
  portal: 'customer page',
  colleague: 'team',
  invite: 'team',
  install: 'self hosting',
  deploy: 'self hosting',
  settings: 'configuration',
  throttle: 'limits',
  trial: 'test',
};

const scores = { exact: 30, start: 16, inside: 8, detail: 10, text: 2 };

function wordScore(word: string, title: readonly string[], detail: string, text: string): number {
  if (title.includes(word)) return scores.exact;
  const stem = stemOf(word);
  if (title.some((one) => stemOf(one) === stem)) return scores.exact - 4;
  if (title.some((one) => one.startsWith(stem))) return scores.start;
  if (title.some((one) => one.includes(word))) return scores.inside;
  if (detail.includes(stem)) return scores.detail;
  return text.includes(stem) ? scores.text : 0;
}

/** A word of the docs counts a little more than one that means the same. */
const synonymShare = 0.8;

function meaningScore(word: string, title: readonly string[], detail: string, text: string): number {
  const own = wordScore(word, title, detail, text);
  const meant = synonyms[word]?.split(' ') ?? [];
  const found = meant.map((other) => wordScore(other, title, detail, text));
  return Math.max(own, found.length > 0 ? Math.min(...found) * synonymShare : 0);
}

/** Words that say nothing about what is searched for. */
const idle = new Set(['a', 'an', 'and', 'do', 'for', 'how', 'i', 'in', 'is', 'of', 'on', 'the', 'to', 'with']);

/** Names of events, commands and errors consist of the words of everything else. */
function shareOf({ title, detail }: SearchEntry): number {
  if (/^[a-z]+_[a-z_]+$/.test(title)) return 0.4;
  return detail === 'Webhook events' || title.startsWith('svc ') ? 0.6 : 1;
}

/** Higher is better; 0 if a word does not occur. A title that begins with the first word, or has few others, fits best. */
function scoreOf(entry: SearchEntry, words: readonly string[]): number {
  const title = wordsOf(entry.title);
  const [detail, text] = [entry.detail.toLowerCase(), entry.text.toLowerCase()];
  const found = words.map((word) => meaningScore(word, title, detail, text));
  if (found.includes(0)) return 0;
  const sum = found.reduce((all, one) => all + one, 0);
  const meant = title.filter((word) => !idle.has(word));
  const named = found.filter((score) => score >= scores.start).length;
  const begins = stemOf(meant[0] ?? '') === stemOf(words[0] ?? '') ? 8 : 0;
  const whole = meant.length > 0 ? (12 * named) / Math.max(meant.length, words.length) : 0;
  // A guide, and a call of the API, explain more than a section.
  const isPage = entry.detail === 'Guide' ? 6 : 0;
  return (sum + begins + whole + isPage) * shareOf(entry);
}

export function findEntries(entries: readonly SearchEntry[], typed: string): SearchEntry[] {
  const all = wordsOf(typed);
  const meant = all.filter((word) => !idle.has(word));
  const words = meant.length > 0 ? meant : all;
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, resultsMax)
    .map(({ entry }) => entry);
}
