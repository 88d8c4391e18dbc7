import { EventEmitter } from 'node:events';

/** What a turn of a loop leaves: more work, so that the next turn follows at once, or none until the pause ends. */
export type WorkLeft = 'more' | 'idle';

/** Ends the pause of a loop early. */
export interface Alarm {
  /** Ends the pause, and is remembered until the next call of `rang`. */
  ring(): void;
  /** Ends the pause without being remembered. */
  wake(): void;
  /** Whether `ring` was called since the last call of `rang`. */
  rang(): boolean;
  pause(ms: number): Promise<void>;
}

export function createAlarm(): Alarm {
  const emitter = new EventEmitter();
  let hasRung = false;
  const wake = (): void => {
    emitter.emit('wake');
  };
  return {
    ring() {
      hasRung = true;
      wake();
    },
    wake,
    rang() {
      const rang = hasRung;
      hasRung = false;
      return rang;
    },
    pause(ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      // Node warns about a time that has passed.
      const timer = setTimeout(resolve, Math.max(0, ms));
      emitter.once('wake', resolve);
      return promise.finally(() => {
        clearTimeout(timer);
        emitter.off('wake', resolve);
      });
    },
  };
}
