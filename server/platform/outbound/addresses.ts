import ipaddr from 'ipaddr.js';

/**
 * Decides which addresses the program may connect to at the request of a user: public addresses, and those the
 * operator allows.
 */

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

export type AddressCheck = (address: string) => boolean;

function parseRange(text: string): Range {
  return text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(text);
}

function wholeAddress(text: string): Range {
  const address = ipaddr.parse(text);
  return [address, address instanceof ipaddr.IPv4 ? 32 : 128];
}

// The range that IPv6 assigns to hosts of the internet. The rest is reserved, and some of it maps to IPv4 addresses:
// `::7f00:1`.
const globalUnicast = ipaddr.parseCIDR('2000::/3');

export function addressCheck(allowed: readonly string[]): AddressCheck {
  const ranges = allowed.map(parseRange);
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    // An IPv4-mapped IPv6 address counts as its IPv4 address.
    const address = ipaddr.process(text);
    const operatorAllows = ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
    // Every range that is not plain public unicast has a name: private, loopback, link-local, NAT64, 6to4 and others.
    const isGlobal = address instanceof ipaddr.IPv4 || address.match(globalUnicast);
    return operatorAllows || (isGlobal && address.range() === 'unicast');
  };
}
