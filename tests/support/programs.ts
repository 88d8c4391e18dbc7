import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The programs that tests start as processes of their own. */

const sources = { main: '../../server/main.ts', svc: '../../cli/svc.ts' } as const;

/**
 * Returns the path of the service or of the command line. `npm test` bundles both as a release does, because a bundle
 * starts in a third of the processor time. Other commands start the sources.
 */
export function programPath(name: keyof typeof sources): string {
  const bundled = process.env.SVC_TEST_PROGRAMS;
  return bundled ? join(bundled, `${name}.js`) : fileURLToPath(new URL(sources[name], import.meta.url));
}
