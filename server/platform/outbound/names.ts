import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { createTurns } from '../turns.ts';

/**
 * The addresses of names that others chose. DNS is asked without a thread: a name server that keeps silent holds up those
 * who wait for its names, and nobody else. Only names that DNS does not know are asked of the system, which has a file of
 * hosts: a few at a time, since each takes one of the threads that files and passwords need too.
 */
export type ResolveName = (name: string) => Promise<LookupAddress[]>;

const tries = 2;
const systemTurns = { atOnce: 2, waitingMax: 1_000, busy: () => new Error('too many names are being looked up') };
/** Nothing there, or nobody to ask; any other answer is an answer. */
const unknownToDns = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

export interface NameOptions {
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
}

export function createNames({ servers, timeoutMs = 1_500 }: NameOptions = {}): ResolveName {
  const dns = new Resolver({ timeout: timeoutMs, tries });
  if (servers) dns.setServers(servers);
  const inTurn = createTurns(systemTurns);
  const underWay = new Map<string, Promise<LookupAddress[]>>();

  async function ask(name: string): Promise<LookupAddress[]> {
    const found = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
    const addresses = found.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (addresses.length > 0) return addresses;
    const failed = found.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
    const decisive = failed.find((error) => !('code' in error && unknownToDns.includes(String(error.code))));
    if (decisive) throw decisive;
    return inTurn(() => lookup(name, { all: true, order: 'ipv4first' }));
  }

  return (name) => {
    // Many connections to one host begin at once.
    const asked = underWay.get(name) ?? ask(name).finally(() => underWay.delete(name));
    underWay.set(name, asked);
    return asked;
  };
}
