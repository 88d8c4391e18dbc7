import { fill, type Template, type Values } from '../../server/customer-texts/messages.ts';

/** Small helpers to read and build the page. Text is always set as text, never as markup. */

export function byId(id: string): HTMLElement;
export function byId<Found extends HTMLElement>(id: string, kind: new () => Found): Found;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no element #${id}.`);
  return found;
}

type Child = Node | string | undefined;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

/** A drawing that the document defines as a symbol. With a label it is a picture, without one it is decoration. */
export function drawing(symbol: string, className: string, label?: string): SVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg');
  const use = document.createElementNS(svgNamespace, 'use');
  use.setAttribute('href', `#${symbol}`);
  svg.setAttribute('class', className);
  if (label) {
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', label);
  } else svg.setAttribute('aria-hidden', 'true');
  svg.append(use);
  return svg;
}

/** Hides the element if there is no text. */
export function setText(id: string, text: string | null | undefined): void {
  const target = byId(id);
  target.textContent = text ?? '';
  target.hidden = !text;
}

/** Only web links, so that a value from elsewhere cannot become a script. */
export function setLink(id: string, url: string | null | undefined): void {
  const link = byId(id, HTMLAnchorElement);
  link.hidden = !url || !/^https?:\/\//i.test(url);
  if (link.hidden) link.removeAttribute('href');
  else link.href = url ?? '';
}

/** Puts values into a text with places for them, as the language of the page does. */
export const filled = (text: Template | string, values: Values): string =>
  fill(text, values, document.documentElement.lang);

/** The words of the merchant, which can be in another language than the page. */
export interface OwnText {
  readonly text: string;
  readonly locale: string;
}

export const ownText = ({ text, locale }: OwnText): HTMLElement =>
  element('span', { class: 'own', lang: locale, dir: 'auto' }, text);

export interface Reachable {
  readonly support: OwnText | null;
  readonly support_email: string | null;
}

/** What the merchant says itself, and a text with `{email}`, which becomes a link. Hidden if there is neither. */
export function setSupport(id: string, text: Template | string, merchant: Reachable | undefined): void {
  const { support = null, support_email: email = null } = merchant ?? {};
  const [before = '', after = ''] = filled(text, {}).split('{email}');
  const target = byId(id);
  target.hidden = !email && !support;
  target.replaceChildren(
    ...(support ? [ownText(support)] : []),
    ...(email ? [before, element('a', { href: `mailto:${email}` }, email), after] : []),
  );
}

export function setProperties(properties: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(properties)) document.documentElement.style.setProperty(name, value);
}
