/** Line breaks, tabs, blanks and backslashes, which a browser removes or reads as something else. */
const rewritten = /[\p{Cc}\p{Cf}\p{White_Space}\\]/u;
const complete = /^[a-z][a-z\d+.-]*:\/\/[^/]/i;

export const urlRule = (example: string): string =>
  `must be a complete URL without blanks, line breaks and backslashes, for example ${example}`;

/**
 * Returns the URL, or undefined if the text is not an absolute URL as it is written. The parser alone accepts `https:x.example` and
 * ` https:/\\x.example`, because it repairs what people type into a browser.
 */
export function absoluteUrl(text: string): URL | undefined {
  return complete.test(text) && !rewritten.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
