import { setImmediate } from 'node:timers/promises';

let lastTurn: Promise<void> = Promise.resolve();

/**
 * For work that blocks the event loop for a millisecond or more: waits for a turn of the loop in which no other such
 * work runs. Other requests, which need several turns, then wait for one piece of such work per turn instead of all
 * of it.
 */
export function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}
