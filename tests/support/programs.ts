import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The programs that tests start as processes of their own. */

const sources = {
  main: '../../server/main.ts',
  svc: '../../cli/svc.ts',
  simulator: '../../simulators/main.ts',
} as const;

/** The file of a simulated processor in the folder of the bundles. It is an ES module: it waits at its top level. */
export const simulatorFile = 'simulator.mjs';

/**
 * Returns the path of the service, of the command line or of a simulated processor. `npm test` bundles them, the first two
 * as a release does, because a bundle starts in a third of the processor time. Other commands start the sources.
 */
export function programPath(name: keyof typeof sources): string {
  const bundled = process.env.SVC_TEST_PROGRAMS;
  if (!bundled) return fileURLToPath(new URL(sources[name], import.meta.url));
  return join(bundled, name === 'simulator' ? simulatorFile : `${name}.js`);
}
