/**
 * Times as text. Formatting one takes longer than everything else about it, and the times of requests that arrive together
 * are often equal.
 */
const texts = new Map<number, string>();
const textsMax = 1_000;

export function isoTime(ms: number): string {
  const known = texts.get(ms);
  if (known !== undefined) return known;
  const text = new Date(ms).toISOString();
  if (texts.size >= textsMax) texts.clear();
  texts.set(ms, text);
  return text;
}
