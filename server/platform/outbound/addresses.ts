import ipaddr from 'ipaddr.js';

/** Where the program may connect to on somebody else's word: public addresses, and what the operator allows. */

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

export type AddressCheck = (address: string) => boolean;

function parseRange(text: string): Range {
  return text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(text);
}

function wholeAddress(text: string): Range {
  const address = ipaddr.parse(text);
  return [address, address instanceof ipaddr.IPv4 ? 32 : 128];
}

// What IPv6 gives to hosts of the internet. The rest is reserved, and some of it leads to IPv4 addresses: `::7f00:1`.
const globalUnicast = ipaddr.parseCIDR('2000::/3');

export function addressCheck(allowed: readonly string[]): AddressCheck {
  const ranges = allowed.map(parseRange);
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    // An IPv4 address in IPv6 clothes is the IPv4 address it leads to.
    const address = ipaddr.process(text);
    const operatorAllows = ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
    // Every range that is not plain public unicast has a name: private, loopback, link-local, NAT64, 6to4 and so on.
    const isGlobal = address instanceof ipaddr.IPv4 || address.match(globalUnicast);
    return operatorAllows || (isGlobal && address.range() === 'unicast');
  };
}
