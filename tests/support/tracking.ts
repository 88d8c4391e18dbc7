import { type AsyncHook, createHook } from 'node:async_hooks';

/**
 * `node:test` tracks every promise of a process, to know by which test it was created. It needs that while the tests are
 * declared in files that are imported. Afterwards it only adds the name of the test to an error that no test catches, and costs
 * a tenth of the processor time. Without it, such an error fails the process, and so the run.
 */

const enabled: AsyncHook[] = [];
const prototype = Object.getPrototypeOf(createHook({})) as AsyncHook;
const enable = prototype.enable;
prototype.enable = function enableAndRemember(this: AsyncHook) {
  enabled.push(this);
  return enable.call(this);
};

export function stopTracking(): void {
  for (const hook of enabled) hook.disable();
}
