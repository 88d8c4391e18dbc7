import type { FastifyReply, FastifyRequest } from 'fastify';
import { texts } from '../../pages/closed/texts.ts';
import { pageFile } from '../../pages/page-files.ts';
import { brandColors } from '../../pages/shared/colors.ts';
import { profileOf } from '../features/profile/service.ts';
import type { Profile } from '../features/profile/schemas.ts';
import { escaped } from '../platform/html.ts';
import type { RequestContext } from '../request-context.ts';
import { asset, once, sendPage, styleType, versionOf } from './assets.ts';

/**
 * The page behind a link of a merchant that is known but does not work any more. It says who the merchant is and why. The page
 * of a link that is not known is the same without the merchant. It has no script, so it needs none.
 */

export const closedStyle = asset(styleType, () => pageFile('closed.css'));

const document = once(() => pageFile('closed.html').replaceAll('{{version}}', versionOf(closedStyle)));

interface Reason {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

/** Why a link does not work, or shows no checkout page (`open`). The status of a link that can work again later is that of a service that is not available. */
const closedReasons = {
  open: { status: 200, title: texts.openTitle, text: texts.open },
  sold_out: { status: 410, title: texts.soldOutTitle, text: texts.soldOut },
  ended: { status: 410, title: texts.endedTitle, text: texts.ended },
  inactive: { status: 410, title: texts.inactiveTitle, text: texts.inactive },
  unavailable: { status: 503, title: texts.unavailableTitle, text: texts.unavailable },
  receipt: { status: 410, title: texts.receiptTitle, text: texts.receipt },
  unknown: { status: 404, title: texts.unknownTitle, text: texts.unknown },
} satisfies Record<string, Reason>;

/** People get a page; programs get the error. */
export const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') === true;

type Words = Readonly<Record<string, string>>;

const filled = (text: string, words: Words): string =>
  text.replaceAll(/\{(\w+)\}/g, (place, name: string) => words[name] ?? place);

interface ClosedPage {
  readonly reason: keyof typeof closedReasons;
  /** The company of a link that is known. */
  readonly context?: RequestContext;
  readonly words?: Words;
  /** From the folder of the page to the root of the service. */
  readonly root?: '..' | '../..';
}

export async function sendClosedPage(
  reply: FastifyReply,
  { reason, context, words = {}, root = '..' }: ClosedPage,
): Promise<FastifyReply> {
  const { status, title, text } = closedReasons[reason];
  const profile = context && (await profileOf(context.db, context.company));
  const all = { ...words, merchant: profile?.display_name ?? '' };
  const heading = filled(title, all);
  return sendMessage(reply.code(status), {
    root,
    symbol: reason === 'open' ? 'lock' : 'clock',
    title: escaped(profile ? filled(texts.pageTitle, { ...all, title: heading }) : heading),
    heading: escaped(heading),
    text: escaped(filled(text, all)),
    colors: profile ? colorsOf(profile) : '',
    merchant: profile ? merchantOf(profile, texts.modes[context.company.mode]) : '',
    actions: reason === 'open' ? continueLink : profile ? actionsOf(profile) : '',
  });
}

/** A page that says one thing. The parts are HTML. */
export function sendMessage(reply: FastifyReply, parts: Words): FastifyReply {
  const page = document().replaceAll(/\{\{(\w+)\}\}/g, (place, name: string) => parts[name] ?? place);
  const policy = "font-src 'self'; frame-ancestors 'none'";
  return sendPage(reply, page, { policy, imageSources: ["'self'"] });
}

const continueLink = `<a class="pay" href="?open">${escaped(texts.continue)}</a>`;

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

function actionsOf({ display_name: merchant, website, support_email: email }: Profile): string {
  const link = website
    ? `<a class="pay" href="${escaped(website)}">${escaped(filled(texts.website, { merchant }))}</a>`
    : '';
  if (!email) return link;
  const address = `<a href="mailto:${escaped(email)}">${escaped(email)}</a>`;
  return `${link}<p class="note">${escaped(texts.support).replace('{email}', address)}</p>`;
}
