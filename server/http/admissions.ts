import type { AdmissionControl } from '../platform/admission-control.ts';

/**
 * Each shard has an admission control of its own: requests for a shard that hangs cannot take the places of requests
 * for the others.
 */
export interface Admissions {
  of(shard: string): AdmissionControl;
  /** The sums over all shards. */
  stats(): ReturnType<AdmissionControl['stats']>;
}

export function openAdmissions(open: (shard: string) => AdmissionControl): Admissions {
  const byShard = new Map<string, AdmissionControl>();
  return {
    of(shard) {
      const known = byShard.get(shard);
      if (known) return known;
      const opened = open(shard);
      byShard.set(shard, opened);
      return opened;
    },
    stats() {
      const sum = { running: 0, waiting: 0, limit: 0 };
      for (const { running, waiting, limit } of [...byShard.values()].map((one) => one.stats())) {
        sum.running += running;
        sum.waiting += waiting;
        sum.limit += limit;
      }
      return sum;
    },
  };
}
