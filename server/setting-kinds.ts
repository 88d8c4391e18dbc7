import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { limits } from './limits.ts';
import { isAddressRange } from './platform/addresses.ts';
import { ConfigurationError } from './platform/configuration-error.ts';
import { parseRateLimit, type RateLimit } from './platform/rate-limiter/rate-limiter.ts';
import { Secret } from './platform/secret.ts';
import { parseShards, type ShardUrls } from './shards/settings.ts';

/** The kinds of settings, each with how its text is read. */

export interface Setting<Value> {
  readonly fallback: string;
  readonly parse: (text: string) => Value;
  readonly describe: string;
  /** `NAME_FILE` can name a file with the value. */
  readonly isSecret?: true;
}

export const text = (fallback: string, describe: string): Setting<string> => ({
  fallback,
  describe,
  parse: (value) => value,
});

export const optional = (describe: string): Setting<string | undefined> => ({
  fallback: '',
  describe,
  parse: (value) => value || undefined,
});

export const secret = (describe: string): Setting<Secret<string> | undefined> => ({
  fallback: '',
  isSecret: true,
  describe,
  parse: (value) => (value ? new Secret(value) : undefined),
});

function checkUrl(value: string, schemes: readonly string[]): void {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !schemes.includes(url.protocol.slice(0, -1))) {
    throw new ConfigurationError(`must be a URL that begins with ${schemes.join(':// or ')}://`);
  }
}

export const url = (schemes: readonly string[], describe: string): Setting<string | undefined> => ({
  fallback: '',
  describe,
  parse: (value) => {
    if (value) checkUrl(value, schemes);
    return value || undefined;
  },
});

export const secretUrl = (schemes: readonly string[], describe: string): Setting<Secret<string> | undefined> => ({
  fallback: '',
  isSecret: true,
  describe,
  parse: (value) => {
    if (value) checkUrl(value, schemes);
    return value ? new Secret(value) : undefined;
  },
});

/** The URLs have passwords. */
export const shards = (describe: string): Setting<ShardUrls> => ({
  fallback: '',
  isSecret: true,
  describe,
  parse: parseShards,
});

export const contact = (describe: string): Setting<string | undefined> => ({
  fallback: '',
  describe,
  parse: (value) => {
    const address = /^(?:mailto:)?([^\s@:/]+@[^\s@:/]+)$/.exec(value)?.[1];
    if (address) return `mailto:${address}`;
    if (value && !(/^https:\/\/\S+$/.test(value) && URL.canParse(value)))
      throw new ConfigurationError('must be an email address or an https URL, for example security@example.com');
    return value || undefined;
  },
});

const hostName =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?!\d+$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/** An address to listen on. A name that ends with a number is an IP address with a mistake. */
export const hostAddress = (fallback: string, describe: string): Setting<string> => ({
  fallback,
  describe,
  parse: (value) => {
    if (isIP(value) || hostName.test(value)) return value;
    throw new ConfigurationError('must be an IP address or a host name of this machine, for example 127.0.0.1 or ::');
  },
});

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `10.0.0.1:26379`, `redis-1:26379` or `[::1]:26379`. */
export const hostsAndPorts = (describe: string): Setting<readonly HostAndPort[]> => ({
  fallback: '',
  describe,
  parse: (value) => (value ? value.split(',').map((one) => hostAndPort(one.trim())) : []),
});

function hostAndPort(value: string): HostAndPort {
  const [, inBrackets, plain = '', port] = /^(?:\[(.+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = inBrackets ?? plain;
  if ((isIP(host) || hostName.test(host)) && Number(port) >= 1 && Number(port) <= 65_535)
    return { host, port: Number(port) };
  throw new ConfigurationError('must be a comma-separated list of hosts with their ports, for example 10.0.0.1:26379');
}

/** `svc@example.com` or `Shop <svc@example.com>`. */
export const mailbox = (fallback: string, describe: string): Setting<string> => ({
  fallback,
  describe,
  parse: (value) => {
    if (/^(?:[^<>]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/.test(value)) return value;
    throw new ConfigurationError(
      'must be an email address, for example svc@example.com or "Your Shop <svc@example.com>"',
    );
  },
});

export const addressRanges = (describe: string): Setting<readonly string[]> => ({
  fallback: '',
  describe,
  parse: (value) => {
    const ranges = value ? value.split(',').map((range) => range.trim()) : [];
    const wrong = ranges.find((range) => !isAddressRange(range));
    if (wrong !== undefined)
      throw new ConfigurationError(
        'must be a comma-separated list of IP addresses or CIDR ranges, for example 10.0.0.0/8',
      );
    return ranges;
  },
});

export const integer = (fallback: number, minimum: number, maximum: number, describe: string): Setting<number> => ({
  fallback: String(fallback),
  describe,
  parse: (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < minimum || number > maximum) {
      throw new ConfigurationError(`must be a whole number from ${minimum} to ${maximum}`);
    }
    return number;
  },
});

/** A retention in days; 0 deletes nothing. */
export const days = (fallback: number, minimum: number, describe: string): Setting<number> => ({
  fallback: String(fallback),
  describe,
  parse: (value) => {
    const number = Number(value);
    if (number !== 0 && (!Number.isInteger(number) || number < minimum || number > 36_500)) {
      throw new ConfigurationError(`must be 0, or a whole number of days from ${minimum} to 36500`);
    }
    return number;
  },
});

const demos = { '1': 'full', true: 'full', empty: 'empty', '0': 'none', false: 'none' } as const;

/** Whether there is a demo company, and whether it has sample data. */
export const demo = (describe: string): Setting<'full' | 'empty' | 'none' | undefined> => ({
  fallback: '',
  describe,
  parse: (value) => {
    const found = Object.entries(demos).find(([written]) => written === value);
    if (value && !found) throw new ConfigurationError('must be 1, empty or 0');
    return found?.[1];
  },
});

export const choice = <Value extends string>(
  fallback: Value | '',
  values: readonly Value[],
  describe: string,
): Setting<Value | undefined> => ({
  fallback,
  describe,
  parse: (value) => {
    const found = values.find((candidate) => candidate === value);
    if (value && !found) throw new ConfigurationError(`must be one of ${values.join(', ')}`);
    return found;
  },
});

export const urls = (describe: string): Setting<readonly string[]> => ({
  fallback: '',
  describe,
  parse: (value) => {
    const list = value.split(',').map((part) => part.trim());
    const named = list.filter((part) => part !== '');
    const wrong = named.find((part) => !URL.canParse(part) || !/^https?:$/.test(new URL(part).protocol));
    if (wrong !== undefined) throw new ConfigurationError('must be a comma-separated list of http or https URLs');
    return named.map((part) => new URL(part).href);
  },
});

export const rateLimit = (fallback: string, describe: string): Setting<RateLimit | null> => ({
  fallback,
  describe: `${describe} \`count/seconds\` or \`off\`.`,
  parse: (value) => {
    try {
      return parseRateLimit(value);
    } catch {
      throw new ConfigurationError('must be count/seconds, for example 500/10, or off');
    }
  },
});

export const pageLimit = (describe: string): Setting<RateLimit | null> => {
  const limit = rateLimit('auto', describe);
  const { count, windowSeconds } = limits.pageRequestsPerProcessor;
  const automatic = { count: count * availableParallelism(), windowSeconds };
  return { ...limit, parse: (value) => (value === 'auto' ? automatic : limit.parse(value)) };
};
