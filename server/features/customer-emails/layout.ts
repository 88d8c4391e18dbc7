import type { Words } from '../../customer-texts/words.ts';
import { escaped } from '../../platform/html.ts';
import type { EmailContent } from './content.ts';

/**
 * Lays an email out, as HTML that common mail programs show alike and as plain text. Mail programs know tables and inline styles
 * best; the few rules in the head only adapt the colors to a dark screen.
 */

export interface Brand {
  readonly name: string;
  readonly logoUrl: string | null;
  readonly color: string;
  readonly textColor: string;
  /** The address in lines. */
  readonly address: readonly string[];
  readonly contact: string | null;
  /** How customers reach the merchant, in its own words. */
  readonly support: string | null;
  /** That no money was moved; empty in live mode. */
  readonly note: string;
  readonly words: Words;
  readonly firstName: string | undefined;
  /** Where the customer can stop optional emails. */
  readonly unsubscribeUrl: string;
}

const font = "font-family: -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";
const ink = '#111827';
const muted = '#4b5563';

const darkRules = `
    :root { color-scheme: light dark; supported-color-schemes: light dark; }
    :lang(ja) { line-break: strict; word-break: auto-phrase; }
    @media (prefers-color-scheme: dark) {
      .page { background-color: #111827 !important; }
      .card { background-color: #1f2937 !important; }
      .ink, .ink a { color: #f9fafb !important; }
      .muted, .muted a { color: #d1d5db !important; }
      .rule { border-color: #4b5563 !important; }
    }`;

const paragraph = (text: string): string =>
  `<p class="ink" style="margin: 0 0 16px; ${font}; font-size: 16px; line-height: 24px; color: ${ink};">${escaped(text)}</p>`;

export function htmlOf(content: EmailContent, brand: Brand): string {
  const { headline, paragraphs, button } = content;
  const title = `<h1 class="ink" style="margin: 0 0 16px; ${font}; font-size: 24px; line-height: 32px; color: ${ink};">${escaped(headline)}</h1>`;
  return `<!doctype html>
<html lang="${brand.words.locale}" dir="${brand.words.direction}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="supported-color-schemes" content="light dark">
  <title>${escaped(content.subject)}</title>
  <style>${darkRules}
  </style>
</head>
<body class="page" style="margin: 0; padding: 0; background-color: #f3f4f6;">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background-color: #f3f4f6;">
<tr><td align="center" style="padding: 24px 12px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width: 560px;">
<tr><td bgcolor="${brand.color}" style="padding: 20px 32px; background-color: ${brand.color}; border-radius: 8px 8px 0 0;">${headOf(brand)}</td></tr>
<tr><td class="card" style="padding: 32px; background-color: #ffffff; border-radius: 0 0 8px 8px;">
${title}
${[brand.words.greeting(brand.firstName), ...paragraphs].map(paragraph).join('\n')}
${linesOf(content, brand)}
${factsOf(content, brand)}
${button ? buttonOf(button, brand) : ''}
</td></tr>
<tr><td style="padding: 24px 32px;">${footOf(brand)}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

function headOf({ logoUrl, name, textColor }: Brand): string {
  const text = `<span style="${font}; font-size: 18px; line-height: 24px; font-weight: bold; color: ${textColor};">${escaped(name)}</span>`;
  if (!logoUrl) return text;
  // A white ground, so that a dark logo is visible on every color.
  return `<img src="${escaped(logoUrl)}" alt="" height="40" style="display: inline-block; height: 40px; max-width: 200px; padding: 4px; border: 0; border-radius: 4px; background-color: #ffffff; vertical-align: middle;"> &nbsp;${text}`;
}

/** Where a line ends: on the left in Arabic. */
const endOf = ({ words }: Brand): 'left' | 'right' => (words.direction === 'rtl' ? 'left' : 'right');

const startOf = ({ words }: Brand): 'left' | 'right' => (words.direction === 'rtl' ? 'right' : 'left');

function linesOf({ lines }: EmailContent, brand: Brand): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ text, amount, isStrong }) => {
    const style = `padding: 8px 0; border-bottom: 1px solid #e5e7eb; ${font}; font-size: 15px; line-height: 22px; color: ${ink};${isStrong ? ' font-weight: bold;' : ''}`;
    return `<tr><td class="ink rule" style="${style}">${escaped(text)}</td><td class="ink rule" align="${endOf(brand)}" valign="top" style="${style} padding-${startOf(brand)}: 16px; white-space: nowrap;">${escaped(amount)}</td></tr>`;
  });
  return `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin: 0 0 16px;">\n${rows.join('\n')}\n</table>`;
}

function factsOf({ facts }: EmailContent, brand: Brand): string {
  if (facts.length === 0) return '';
  const style = `padding: 2px 0; ${font}; font-size: 14px; line-height: 20px;`;
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td class="muted" valign="top" style="${style} padding-${endOf(brand)}: 16px; color: ${muted}; white-space: nowrap;">${escaped(label)}</td><td class="ink" width="100%" style="${style} color: ${ink};"><bdi>${escaped(value)}</bdi></td></tr>`,
  );
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin: 0 0 20px;">\n${rows.join('\n')}\n</table>`;
}

const buttonOf = ({ text, url }: NonNullable<EmailContent['button']>, { color, textColor }: Brand): string =>
  `<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td bgcolor="${color}" style="border-radius: 6px; border: 1px solid ${textColor}; background-color: ${color};"><a href="${escaped(url)}" style="display: inline-block; padding: 12px 24px; ${font}; font-size: 16px; line-height: 20px; font-weight: bold; color: ${textColor}; text-decoration: none;">${escaped(text)}</a></td></tr></table>`;

function footOf({ name, address, contact, support, note, words, unsubscribeUrl }: Brand): string {
  const { questions, unsubscribe } = words.texts.emails;
  const line = (html: string): string =>
    `<p class="muted" style="margin: 0 0 8px; ${font}; font-size: 13px; line-height: 18px; color: ${muted};">${html}</p>`;
  return [
    ...(support ? [line(`<span dir="auto">${escaped(support)}</span>`)] : []),
    ...(contact ? [line(escaped(words.fill(questions, { contact })))] : []),
    line(escaped([name, ...address].join(', '))),
    ...(note ? [line(escaped(note))] : []),
    line(`<a href="${escaped(unsubscribeUrl)}" style="color: ${muted};">${escaped(unsubscribe)}</a>`),
  ].join('\n');
}

export function textOf({ headline, paragraphs, lines, facts, button }: EmailContent, brand: Brand): string {
  const { name, address, contact, support, note, words, unsubscribeUrl, firstName } = brand;
  const { questions, unsubscribe } = words.texts.emails;
  const blocks = [
    headline,
    words.greeting(firstName),
    ...paragraphs,
    lines.map(({ text, amount }) => (amount === '' ? text : `${text}: ${amount}`)).join('\n'),
    facts.map(([label, value]) => `${label}: ${value}`).join('\n'),
    button ? `${button.text}: ${button.url}` : '',
    support ?? '',
    contact ? words.fill(questions, { contact }) : '',
    [name, ...address].join(', '),
    note,
    `${unsubscribe}: ${unsubscribeUrl}`,
  ];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}
