import { createHostLimit, type HostLimit } from './host-limit.ts';

/** The limits of the requests to one host. They are separate, so receivers that do not answer delay only each other. */
export interface Host {
  readonly answering: HostLimit;
  /** For receivers that do not answer. */
  readonly silent: HostLimit;
}

const answeringPermits = 100;
const silentPermits = 20;
/** How long a request without an answer counts. */
export const countsMs = 2_000;
/** Beyond this number, hosts without requests are removed. */
const hostsMax = 1_000;

export function createHosts(): (origin: string) => Host {
  const hosts = new Map<string, Host>();
  function removeIdle(): void {
    for (const [origin, { answering, silent }] of hosts) {
      if (answering.isIdle() && silent.isIdle()) hosts.delete(origin);
    }
  }
  return (origin) => {
    const known = hosts.get(origin);
    if (known) return known;
    if (hosts.size >= hostsMax) removeIdle();
    const made = {
      answering: createHostLimit({ permits: answeringPermits, countsMs }),
      silent: createHostLimit({ permits: silentPermits, countsMs }),
    };
    hosts.set(origin, made);
    return made;
  };
}
