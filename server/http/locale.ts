import type { FastifyRequest } from 'fastify';
import { chosenLocale, localeOfTag } from '../customer-texts/languages.ts';

/** The language that the address of a page asks for: `?locale=de-AT`. */
export const askedLocaleOf = (request: FastifyRequest): string | undefined => localeIn(request, 'locale');

function localeIn({ query }: FastifyRequest, name: keyof AddressLocale): string | undefined {
  const tag = (query as { readonly [name: string]: unknown })[name];
  return typeof tag === 'string' ? localeOfTag(tag) : undefined;
}

/** The language of the visitor of a page. The service may know more than the address says. */
export const localeOfRequest = (request: FastifyRequest, { locale, fallback }: AddressLocale = {}): string =>
  chosenLocale({
    asked: askedLocaleOf(request) ?? locale,
    header: request.headers['accept-language'],
    company: fallback ?? localeIn(request, 'fallback'),
  });

/** What the address of a page says about its language. Addresses that lead on say the same. */
export interface AddressLocale {
  readonly locale?: string | null | undefined;
  /** The language of the company, for a visitor who has asked for none and whose browser has none that the service speaks. */
  readonly fallback?: string | null | undefined;
}

export const addressLocaleOf = (request: FastifyRequest): AddressLocale => ({
  locale: localeIn(request, 'locale'),
  fallback: localeIn(request, 'fallback'),
});

export function withLocale(address: string, { locale, fallback }: AddressLocale): string {
  const [name, value] = locale ? ['locale', locale] : ['fallback', fallback];
  return value ? `${address}${address.includes('?') ? '&' : '?'}${name}=${value}` : address;
}
