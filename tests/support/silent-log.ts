import { createLog } from '../../server/platform/log.ts';

/** For code that needs a log. A log of the standard output would add listeners to the process, each time. */
export const silentLog = createLog('silent', { write: () => undefined });
