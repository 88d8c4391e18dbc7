import type { FastifyRequest } from 'fastify';
import { chosenLocale, localeOfTag } from '../customer-texts/languages.ts';

/** The language that the address of a page asks for: `?locale=de-AT`. */
export function askedLocaleOf({ query }: FastifyRequest): string | undefined {
  const { locale } = query as { readonly locale?: unknown };
  return typeof locale === 'string' ? localeOfTag(locale) : undefined;
}

/** The language of the visitor of a page. */
export const localeOfRequest = (request: FastifyRequest): string =>
  chosenLocale({ asked: askedLocaleOf(request), header: request.headers['accept-language'] });

/** Adds the language to an address that leads on, if the visitor asked for it. */
export const withLocale = (address: string, locale: string | null | undefined): string =>
  locale ? `${address}${address.includes('?') ? '&' : '?'}locale=${locale}` : address;
