import { setImmediate } from 'node:timers/promises';

let lastTurn: Promise<void> = Promise.resolve();

/**
 * For work that keeps the event loop busy for a millisecond or more: waits for a turn of the loop in which no other such work
 * is done. Everything else, which needs a few turns to be answered, then waits for one piece of it in each, not for all.
 */
export function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}
