import type { Queryable } from '../../platform/database.ts';
import { claimDeliveries, type ClaimRequest, type ClaimedDelivery } from './delivery-queries.ts';
import type { EndpointLoad, Sender } from './sender.ts';

/** Claims deliveries that are due, for endpoints that have room, and hands them to the sender. */

/**
 * A worker holds up to twice this many deliveries of one endpoint, so that it does not query the database for each.
 */
const refillAt = 200;
const claimMax = 1_000;
/** A worker that holds nothing starts to send after a small claim, and claims more while it sends. */
const firstClaimMax = 200;
/** How often companies whose clock is ahead are checked while others have deliveries due. */
const aheadEveryMs = 1_000;

export interface Claimer {
  /** Claims for all endpoints that have room. Returns how many deliveries there were. */
  claimAll(): Promise<number>;
  /** Claims for the endpoints that ran low since the last claim. */
  claimForLow(): Promise<number>;
  /** Whether an endpoint ran low although the last claim left deliveries in its queue. */
  hasLow(): boolean;
  /** Marks an endpoint low when it needs more. Returns whether it does. */
  noteLeft(endpointId: string, left: number): boolean;
  /** Called when an endpoint has changed: a claim in progress may have read its old state. */
  noteChanged(endpointId: string): void;
}

interface ClaimerOptions {
  readonly workerId: string;
  /** How many deliveries a worker holds at once. */
  readonly heldMax: number;
}

export function createClaimer(batchDb: Queryable, sender: Sender, { workerId, heldMax }: ClaimerOptions): Claimer {
  /**
   * Endpoints that had enough deliveries at the last claim for all, or were stalled. The other endpoints have no due
   * deliveries left.
   */
  let leftOut = new Set<string>();
  const low = new Set<string>();
  const changed = new Set<string>();
  let nextAheadMs = 0;

  function room(): number {
    const held = sender.size();
    return Math.min(heldMax - held, held === 0 ? firstClaimMax : claimMax);
  }

  const idsOf = (isWanted: (load: EndpointLoad) => boolean): Set<string> =>
    new Set(
      sender
        .endpoints()
        .filter(isWanted)
        .map(({ id }) => id),
    );

  async function take(of: ClaimRequest['of'], count: number): Promise<readonly ClaimedDelivery[]> {
    changed.clear();
    const due = await claimDeliveries(batchDb, { workerId, of, perEndpoint: refillAt, count });
    for (const [endpointId, deliveries] of Map.groupBy(due, ({ endpoint_id }) => endpoint_id)) {
      if (changed.has(endpointId)) sender.release(deliveries);
      else sender.hold(endpointId, deliveries);
    }
    return due;
  }

  return {
    async claimAll() {
      low.clear();
      if (room() <= 0) sender.releaseStalled();
      const count = room();
      leftOut = idsOf(({ size, isStalled }) => count <= 0 || size > refillAt || isStalled);
      if (count <= 0) return 0;
      const allBut = [...leftOut];
      const due = await take({ allBut, by: 'real time' }, count);
      if (due.length > 0 && performance.now() < nextAheadMs) return due.length;
      const dueAhead = await take({ allBut, by: 'their clock' }, count);
      nextAheadMs = performance.now() + aheadEveryMs;
      return due.length + dueAhead.length;
    },
    async claimForLow() {
      const stalled = idsOf(({ isStalled }) => isStalled);
      const only = [...low].filter((id) => !stalled.has(id));
      low.clear();
      const count = room();
      if (count <= 0) {
        leftOut = idsOf(() => true);
        return 0;
      }
      if (only.length === 0) return 0;
      const due = await take({ only }, count);
      const found = new Set(due.map(({ endpoint_id }) => endpoint_id));
      for (const id of only.filter((one) => !found.has(one))) {
        // Nothing more is due for it, or the queue of another endpoint came first.
        if (due.length === 0) leftOut.delete(id);
        else low.add(id);
      }
      return due.length;
    },
    hasLow: () => low.size > 0,
    noteLeft(endpointId, left) {
      if (left > refillAt || !leftOut.has(endpointId)) return false;
      low.add(endpointId);
      return true;
    },
    noteChanged(endpointId) {
      changed.add(endpointId);
    },
  };
}
