import { escaped } from '../../platform/html.ts';

/** Writes the descriptions of the API as HTML: paragraphs, lists, code and links. */

export function prose(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((block) => (block.startsWith('- ') ? list(block) : `<p>${inline(block)}</p>`))
    .join('');
}

const list = (block: string): string =>
  `<ul>${block
    .split(/\n(?=- )/)
    .map((line) => `<li>${inline(line.slice(2))}</li>`)
    .join('')}</ul>`;

export function inline(text: string): string {
  return escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((https?:\/\/[^\s)]+|\/[^\s)]*)\)/g, '<a href="$2">$1</a>');
}

export const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
