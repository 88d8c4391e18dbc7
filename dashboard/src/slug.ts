/** A text as a part of an address or a code: `House Blend, 250 g` → `house-blend-250-g`. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, '')
    .toLowerCase();
