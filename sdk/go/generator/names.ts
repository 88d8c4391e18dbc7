/** Names as Go writes them: `order_id` is OrderID. */

const initialisms: Readonly<Record<string, string>> = {
  id: 'ID',
  ids: 'IDs',
  url: 'URL',
  api: 'API',
  http: 'HTTP',
  sku: 'SKU',
  ip: 'IP',
};

const wordOf = (word: string): string => initialisms[word] ?? `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`;

export const goName = (name: string): string =>
  name
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .split(/[_.\-\s]+/)
    .filter((word) => word !== '')
    .map(wordOf)
    .join('');

/** A name of a parameter: `orderID`. */
export const goParameter = (name: string): string => {
  const full = goName(name);
  return `${full[0]?.toLowerCase() ?? ''}${full.slice(1)}`;
};

/** Named after a schema, so that the words stay as they are. */
export const typeName = (name: string): string =>
  name.replaceAll(/Url(?=[A-Z]|$)/g, 'URL').replaceAll(/Api(?=[A-Z]|$)/g, 'API');

export const comment = (text: string | undefined, indent = ''): string =>
  text ? `${indent}// ${text.replaceAll('\n', ' ')}\n` : '';
