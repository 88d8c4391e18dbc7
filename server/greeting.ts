import { hasLink, readsLikeAddress } from './platform/web-addresses.ts';

/** How emails use words that a stranger may have typed: on a checkout page, at a sign-up, in an invitation. */

/** Whether an email can begin with the name: not if it is missing, or would advertise a site. */
export const greetable = (firstName: string | undefined): boolean =>
  firstName !== undefined && firstName.trim() !== '' && !readsLikeAddress(firstName);

export const greetingFor = (firstName: string | undefined): string =>
  greetable(firstName) ? `Hello ${firstName},` : 'Hello,';

/** Companies are named after domains, for example Booking.com, so only clear links are replaced. */
export const withoutLink = (text: string, otherwise: string): string => (hasLink(text) ? otherwise : text);
