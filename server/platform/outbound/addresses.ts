import ipaddr from 'ipaddr.js';
import { addressBytes, withinRanges } from '../addresses.ts';

/**
 * Decides which addresses the program may connect to at the request of a user: public addresses, and those the
 * operator allows.
 */

export type AddressCheck = (address: string) => boolean;

// The range that IPv6 assigns to hosts of the internet. The rest is reserved, and some of it maps to IPv4 addresses:
// `::7f00:1`.
const isGlobal = withinRanges(['0.0.0.0/0', '2000::/3']);

/** An address of the internet, and not of a proxy, a container or this machine. */
export const isPublicAddress: AddressCheck = (text) => isGlobal(text) && isPlainUnicast(text);

export function addressCheck(allowed: readonly string[]): AddressCheck {
  const operatorAllows = withinRanges(allowed);
  return (text) => operatorAllows(text) || isPublicAddress(text);
}

/** Every range that is not plain public unicast has a name: private, loopback, link-local, NAT64, 6to4 and others. */
function isPlainUnicast(text: string): boolean {
  const bytes = addressBytes(text);
  return bytes !== undefined && ipaddr.fromByteArray([...bytes]).range() === 'unicast';
}
