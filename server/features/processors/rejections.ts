import type { NotedCall } from './health.ts';
import type { ConnectionRow } from './queries.ts';

/** What a processor refuses of the account of a connection, as it is kept with the connection. */

/** Of an adapter that does not say what is refused. */
export const unnamedRejection = 'The processor refuses payments of the account, and does not say why.';

/** What of the account the processor refuses; undefined if that is not what it said. */
function rejectionIn({ outcome, failureCode, refusesCredentials, wantsSecurityCode, rejection }: NotedCall) {
  if (rejection !== undefined) return rejection;
  const isAccount = outcome === 'declined' && failureCode === 'invalid_merchant_configuration';
  return isAccount && !refusesCredentials && !wantsSecurityCode ? unnamedRejection : undefined;
}

/** Until a charge is approved, or the credentials are refused. A lookup may be about an older charge. */
export function rejectionAfter({ rejection }: Pick<ConnectionRow, 'rejection'>, call: NotedCall): string | null {
  const isOver = call.outcome === 'approved' || call.refusesCredentials === true;
  return call.isLookup ? rejection : (rejectionIn(call) ?? (isOver ? null : rejection));
}
