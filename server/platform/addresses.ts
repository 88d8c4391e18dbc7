import { isIP } from 'node:net';

/**
 * IP addresses are compared as bytes, never as text: one address has many spellings. An IPv4-mapped IPv6 address
 * (`::ffff:10.1.2.3`, in any spelling) is the IPv4 address. Every other IPv6 address is no IPv4 address, also the
 * deprecated `::10.1.2.3`.
 */

/** Four bytes of an IPv4 address, or sixteen of an IPv6 address. */
type Bytes = Buffer;

interface Range {
  readonly network: Bytes;
  readonly bits: number;
}

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex');
const mappedBits = mappedPrefix.length * 8;

/** Returns undefined if the text is not an address. A zone (`%eth0`) is left out: it only has a meaning on one machine. */
export function addressBytes(text: string): Bytes | undefined {
  const bytes = bytesAsWritten(text);
  return bytes && isMapped(bytes) ? bytes.subarray(mappedPrefix.length) : bytes;
}

const isMapped = (bytes: Bytes): boolean => bytes.length === 16 && mappedPrefix.equals(bytes.subarray(0, 12));

function bytesAsWritten(text: string): Bytes | undefined {
  const version = isIP(text);
  if (version === 4) return Buffer.from(text.split('.').map(Number));
  if (version !== 6) return undefined;
  const [address = ''] = text.split('%');
  const [left = '', right] = address.split('::');
  const before = groupsOf(left);
  const after = right === undefined ? '' : groupsOf(right);
  return Buffer.from(before + '0'.repeat(32 - before.length - after.length) + after, 'hex');
}

/** Returns the hexadecimal digits of groups such as `db8:1` and `ffff:10.1.2.3`. */
function groupsOf(text: string): string {
  if (text === '') return '';
  return text
    .split(':')
    .map((group) =>
      group.includes('.') ? Buffer.from(group.split('.').map(Number)).toString('hex') : group.padStart(4, '0'),
    )
    .join('');
}

/** Reads an address or a CIDR range. An IPv4 range written as IPv6 (`::ffff:10.0.0.0/104`) becomes the IPv4 range. */
function readRange(text: string): Range | undefined {
  const [address = '', suffix, ...rest] = text.split('/');
  const network = bytesAsWritten(address);
  if (!network || rest.length > 0) return undefined;
  const bitsMax = network.length * 8;
  const bits = suffix === undefined ? bitsMax : /^\d{1,3}$/.test(suffix) ? Number(suffix) : Infinity;
  if (bits > bitsMax) return undefined;
  if (!isMapped(network) || bits < mappedBits) return { network, bits };
  return { network: network.subarray(mappedPrefix.length), bits: bits - mappedBits };
}

export const isAddressRange = (text: string): boolean => readRange(text) !== undefined;

function contains({ network, bits }: Range, address: Bytes): boolean {
  if (network.length !== address.length) return false;
  const whole = bits >> 3;
  if (!network.subarray(0, whole).equals(address.subarray(0, whole))) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || (network[whole] ?? 0) >> rest === (address[whole] ?? 0) >> rest;
}

/** Returns a check whether an address is within one of the ranges. What is not an address is within none. */
export function withinRanges(texts: readonly string[]): (address: string) => boolean {
  const ranges = texts.flatMap((text) => readRange(text) ?? []);
  return (text) => {
    const address = addressBytes(text);
    return address !== undefined && ranges.some((range) => contains(range, address));
  };
}

/** Networks assign IPv6 addresses per /64, so all addresses of a /64 count as one client. */
export function addressBucket(text: string): string {
  const bytes = addressBytes(text);
  if (!bytes) return 'address unknown';
  return `address ${bytes.length === 4 ? bytes.join('.') : bytes.toString('hex', 0, 8)}`;
}

export const isLoopback = withinRanges(['127.0.0.0/8', '::1']);
