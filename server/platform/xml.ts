/** Writes XML, without white space between elements. */

/** An element: its name, its text or parts (those that are undefined are left out), its attributes. */
export type Element = readonly [
  name: string,
  content: string | readonly (Element | undefined)[],
  attributes?: Readonly<Record<string, string>> | undefined,
];

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Without characters that XML cannot have, also when they are escaped, and without white space around it. */
export const xmlText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .trim();

export const escapeXml = (text: string): string => xmlText(text).replaceAll(/[&<>"]/g, (sign) => escapes[sign] ?? sign);

export function xmlOf([name, content, attributes = {}]: Element): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(value)}"`);
  const inner =
    typeof content === 'string'
      ? escapeXml(content)
      : content.map((part) => (part === undefined ? '' : xmlOf(part))).join('');
  return `<${name}${given.join('')}>${inner}</${name}>`;
}
