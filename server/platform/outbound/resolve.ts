import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { errorCode } from '../error-code.ts';
import { createSemaphore } from '../semaphore.ts';

/**
 * Looks up names that users choose, whose DNS servers may never answer. A lookup by the system blocks one of two
 * threads until it gives up, and all other lookups of the process wait behind it. So DNS is queried directly, which
 * needs no thread, and the system only for names that DNS does not know: `/etc/hosts`, and names inside a network.
 */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export interface ResolveOptions {
  /** The DNS servers; by default those of the system. */
  readonly servers?: readonly string[];
  readonly system?: Resolve;
  readonly timeoutMs?: number;
}

const tries = 2;
const resolverMs = 60_000;
const waitingMax = 100;

/** DNS answered that it does not know the name, or there is no DNS server. A missing answer is a different case. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

const unresolved = (): Error => Object.assign(new Error('the host name does not resolve'), { code: 'EAI_AGAIN' });

export function createResolve({
  servers,
  system = (hostname) => lookup(hostname, { all: true }),
  timeoutMs = 2_000,
}: ResolveOptions = {}): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  const inTurn = createSemaphore({ atOnce: 1, waitingMax, busy: unresolved });
  let resolver: { readonly sinceMs: number; readonly dns: Resolver } | undefined;

  /** Creates a new resolver from time to time, because the DNS servers of the system may change. */
  function currentResolver(): Resolver {
    if (resolver && performance.now() - resolver.sinceMs < resolverMs) return resolver.dns;
    const dns = new Resolver({ timeout: timeoutMs, tries });
    if (servers) dns.setServers(servers);
    resolver = { sinceMs: performance.now(), dns };
    return dns;
  }

  async function lookUp(hostname: string): Promise<LookupAddress[]> {
    if (/(^|\.)localhost\.?$/.test(hostname)) return system(hostname);
    if (!hostname.includes('.')) return inTurn(() => system(hostname));
    const dns = currentResolver();
    const answers = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const silent = answers.some(
      (answer) => answer.status === 'rejected' && !notInDns.has(errorCode(answer.reason) ?? ''),
    );
    if (silent) throw unresolved();
    return inTurn(() => system(hostname));
  }

  return (hostname) => {
    const known = underWay.get(hostname);
    if (known) return known;
    const pending = lookUp(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, pending);
    return pending;
  };
}
