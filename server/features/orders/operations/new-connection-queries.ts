import type { OperationCause } from './operation-moves.ts';

/** SQL: where an operation of the order `$2` of the company `c` is sent first, which is `$1`. */

/** Refunds, voids and captures go where the charge or the authorization of the order went. */
const connectionOfCharge = `coalesce((SELECT t.connection_id FROM orders o
  JOIN transactions t ON t.company_id = o.company_id AND t.id = o.sale_id WHERE o.company_id = $1 AND o.id = $2),
  (SELECT t.connection_id FROM transactions t
   WHERE t.company_id = $1 AND t.order_id = $2 AND t.type = 'auth' AND t.status = 'succeeded'))`;

const following: readonly OperationCause[] = ['refund', 'void', 'capture'];

export const connectionOfNew = (cause: OperationCause): string =>
  following.includes(cause) ? connectionOfCharge : 'c.connection_id';
