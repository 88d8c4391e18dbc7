import { hasLink, readsLikeAddress } from './platform/web-addresses.ts';

/** How emails use words that a stranger may have typed: on a checkout page, at a sign-up, in an invitation. */

/** Greets a person by first name, unless the name would advertise a site. */
export const greetingFor = (firstName: string | undefined): string =>
  firstName === undefined || firstName.trim() === '' || readsLikeAddress(firstName) ? 'Hello,' : `Hello ${firstName},`;

/** Companies are named after domains, for example Booking.com, so only clear links are replaced. */
export const withoutLink = (text: string, otherwise: string): string => (hasLink(text) ? otherwise : text);
