import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { brandColors } from '../../pages/shared/colors.ts';
import { dateText } from '../customer-texts/formats.ts';
import type { ReadableTexts } from '../customer-texts/languages.ts';
import { fill, type Values } from '../customer-texts/messages.ts';
import { textsFor } from '../customer-texts/texts.ts';
import { ownText, profileOf } from '../features/profile/service.ts';
import type { Profile } from '../features/profile/schemas.ts';
import { addressLocaleOf, localeOfRequest, withLocale } from '../http/locale.ts';
import { escaped } from '../platform/html.ts';
import type { RequestContext } from '../request-context.ts';
import { asset, once, sendPage, styleType, versionOf } from './assets.ts';
import { inLocale } from './page-document.ts';

/**
 * The page behind a link of a merchant that is known but does not work any more. It says who the merchant is and why. The page
 * of a link that is not known is the same without the merchant. It has no script, so it needs none.
 */

export const closedStyle = asset(styleType, () => pageFile('closed.css'));

const document = once(() => pageFile('closed.html').replaceAll('{{version}}', versionOf(closedStyle)));

type ClosedTexts = ReadableTexts['closed'];
type TextKey = Exclude<keyof ClosedTexts, 'modes'>;

interface Reason {
  readonly status: number;
  readonly title: TextKey;
  readonly text: TextKey;
}

/** Why a link does not work, or shows no checkout page (`open`). The status of a link that can work again later is that of a service that is not available. */
const closedReasons = {
  open: { status: 200, title: 'openTitle', text: 'open' },
  sold_out: { status: 410, title: 'soldOutTitle', text: 'soldOut' },
  ended: { status: 410, title: 'endedTitle', text: 'ended' },
  inactive: { status: 410, title: 'inactiveTitle', text: 'inactive' },
  unavailable: { status: 503, title: 'unavailableTitle', text: 'unavailable' },
  receipt: { status: 410, title: 'receiptTitle', text: 'receipt' },
  unknown: { status: 404, title: 'unknownTitle', text: 'unknown' },
} satisfies Record<string, Reason>;

/** People get a page; programs get the error. */
export const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') === true;

type Words = Readonly<Record<string, string>>;

interface ClosedPage {
  readonly reason: keyof typeof closedReasons;
  /** The company of a link that is known. */
  readonly context?: RequestContext;
  /** What the link asks for. */
  readonly locale?: string | null;
  /** When an offer ended. */
  readonly endedAt?: Date;
  /** From the folder of the page to the root of the service. */
  readonly root?: '..' | '../..';
}

export async function sendClosedPage(
  reply: FastifyReply,
  { reason, context, endedAt, locale: asked, root = '..' }: ClosedPage,
): Promise<FastifyReply> {
  const { status, title, text } = closedReasons[reason];
  const locale = localeOfRequest(reply.request, { locale: asked, fallback: context?.company.locale });
  const { closed: texts } = await textsFor(locale);
  const profile = context && (await profileOf(context.db, context.company));
  const date = endedAt ? dateText(endedAt, locale) : '';
  const filled = (key: TextKey, more: Values = {}): string =>
    fill(texts[key], { date, merchant: profile?.display_name ?? '', ...more }, locale);
  const heading = filled(title);
  return sendMessage(reply.code(status), locale, {
    root,
    symbol: reason === 'open' ? 'lock' : 'clock',
    title: escaped(profile ? filled('pageTitle', { title: heading }) : heading),
    heading: escaped(heading),
    text: escaped(filled(text)),
    colors: profile ? colorsOf(profile) : '',
    merchant: profile ? merchantOf(profile, texts.modes[context.company.mode]) : '',
    actions:
      reason === 'open'
        ? continueLink(withLocale('?open', addressLocaleOf(reply.request)), filled('continue'))
        : profile
          ? actionsOf(profile, locale, filled)
          : '',
  });
}

/** A page that says one thing. The parts are HTML. */
export function sendMessage(reply: FastifyReply, locale: string, parts: Words): FastifyReply {
  const page = inLocale(document(), locale).replaceAll(/\{\{(\w+)\}\}/g, (place, name: string) => parts[name] ?? place);
  const policy = "font-src 'self'; frame-ancestors 'none'";
  return sendPage(reply, page, { policy, imageSources: ["'self'"] });
}

const continueLink = (address: string, text: string): string =>
  `<a class="pay" href="${escaped(address)}">${escaped(text)}</a>`;

function colorsOf({ color }: Profile): string {
  const properties = Object.entries(brandColors(color ?? '')).map(([name, value]) => `${name}: ${value};`);
  return `<style nonce="{{nonce}}">:root { ${properties.join(' ')} }</style>`;
}

function merchantOf({ display_name: name, logo_url }: Profile, mode: string): string {
  const mark = logo_url
    ? `<img class="logo" src="${escaped(logo_url)}" alt="" />`
    : `<span class="mark" aria-hidden="true">${escaped([...name][0]?.toUpperCase() ?? '')}</span>`;
  const badge = mode ? `<p class="mode">${escaped(mode)}</p>` : '';
  return `<header class="merchant">${mark}<p class="merchant-name">${escaped(name)}</p>${badge}</header>`;
}

function actionsOf(profile: Profile, locale: string, textOf: (key: TextKey) => string): string {
  const { website, support_email: email } = profile;
  const own = ownText(profile, 'support', locale);
  const support = own ? `<p class="note" lang="${own.locale}" dir="auto">${escaped(own.text)}</p>` : '';
  const link = website ? `<a class="pay" href="${escaped(website)}">${escaped(textOf('website'))}</a>` : '';
  if (!email) return link + support;
  const address = `<a href="mailto:${escaped(email)}">${escaped(email)}</a>`;
  return `${link}${support}<p class="note">${escaped(textOf('support')).replace('{email}', address)}</p>`;
}
