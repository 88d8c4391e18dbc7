import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { running } from './scheduler.ts';

/**
 * Makes every timer of a machine a step of its scheduler, and its clocks those of the schedule. Outside of a machine,
 * timers and clocks are unchanged.
 */

/** Code outside of machines that reads the time of a schedule: the vault, when it calls a processor. */
export const scheduledTime = new AsyncLocalStorage<{ readonly nowMs: number }>();

class VirtualTimer {
  readonly label: string;
  stopped = false;
  private readonly scheduler;

  constructor(callback: () => void, ms: number, repeats: boolean) {
    const here = running.getStore();
    if (!here) throw new Error('a virtual timer can only be set inside a machine');
    const { machine, scheduler } = here;
    this.scheduler = scheduler;
    this.label = `timer ${scheduler.nextTimer()} of ${Math.round(ms)} ms`;
    const wait = (): void => {
      void scheduler
        .step(machine, this.label, async () => undefined, { losable: false, afterMs: Math.max(ms, 0) })
        .then(() => {
          if (this.stopped) return;
          callback();
          if (repeats) wait();
        });
    };
    wait();
  }

  stop(): void {
    this.stopped = true;
    this.scheduler.forget((label) => label === this.label);
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export function installVirtualTimers(): void {
  const { setTimeout: timeout, setInterval: interval, setImmediate: immediate, clearTimeout: clear } = globalThis;
  const sleep = timersPromises.setTimeout;
  const realNow = performance.now.bind(performance);
  const realDate = Date.now.bind(Date);
  const inMachine = (): boolean => running.getStore() !== undefined;

  globalThis.setTimeout = ((callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    inMachine()
      ? new VirtualTimer(() => callback(...args), ms, false)
      : timeout(callback, ms, ...args)) as typeof globalThis.setTimeout;
  globalThis.setInterval = ((callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    inMachine()
      ? new VirtualTimer(() => callback(...args), ms, true)
      : interval(callback, ms, ...args)) as typeof globalThis.setInterval;
  globalThis.setImmediate = ((callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    running.getStore()?.scheduler.immediate(() => callback(...args)) ??
    immediate(callback, ...args)) as typeof globalThis.setImmediate;
  const stop = (timer: unknown): void => {
    if (timer instanceof VirtualTimer) timer.stop();
    else clear(timer as NodeJS.Timeout);
  };
  globalThis.clearTimeout = stop;
  globalThis.clearInterval = stop;
  performance.now = () => running.getStore()?.scheduler.virtualMs ?? realNow();
  Date.now = () => running.getStore()?.scheduler.nowMs ?? scheduledTime.getStore()?.nowMs ?? realDate();
  timersPromises.setTimeout = <Value>(ms = 0, value?: Value, options?: object): Promise<Value> => {
    const here = running.getStore();
    if (!here) return sleep(ms, value, options);
    return here.scheduler.step(here.machine, `sleep of ${ms} ms`, async () => value as Value, {
      losable: false,
      afterMs: ms,
    });
  };
  syncBuiltinESMExports();
}
