/** Masks JSON text that may be truncated. */

/** Replaces each value whose name is secret with a mask; the text may end anywhere. */
export function maskNamedValues(text: string, secretName: RegExp, mask: string): string {
  let masked = '';
  let at = 0;
  const fields = new RegExp(`"(?:${secretName.source})"\\s*:\\s*(?!null)`, 'gi');
  for (let match = fields.exec(text); match !== null; match = fields.exec(text)) {
    masked += text.slice(at, fields.lastIndex) + JSON.stringify(mask);
    at = endOfValue(text, fields.lastIndex);
    fields.lastIndex = at;
  }
  return masked + text.slice(at);
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = closingQuote(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth < 0 || (depth === 0 && character === ',')) return at;
    if (depth === 0 && (character === '"' || character === '}' || character === ']')) return at + 1;
  }
  return text.length;
}

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Decodes letters, digits and signs that are escaped as `\\u0034`, because they could hide a name or a number. */
export function withPlainCharacters(text: string): string {
  if (!text.includes('\\u00')) return text;
  return text.replace(/\\(?:u00(?!22|5c)([2-7][\da-f])|.)/gis, (escape, code: string | undefined) =>
    code === undefined ? escape : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
