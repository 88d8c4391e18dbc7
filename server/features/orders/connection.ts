import type { VaultCharge } from '../../vault/vault.ts';
import { toBilling } from '../payment-methods/schemas.ts';
import type { CardOfOrder, OrderState } from './order.ts';

/** What a live operation tells the vault beside the operation itself. */

/** Names the connection of an operation; nothing for the sandbox, and for what version 0.1.0 sent. */
export function connectionOf({ connection_id }: { readonly connection_id: string | null }): {
  readonly connectionId?: string;
} {
  return connection_id === null ? {} : { connectionId: connection_id };
}

export type ChargePath = 'charge' | 'retry' | 'renewal';

/**
 * Who started a charge. An order and the first charge of a subscription are started by the customer; renewals and
 * retries by the merchant.
 */
function credentialOf(path: ChargePath, { order }: OrderState): NonNullable<VaultCharge['credential']> {
  if (path === 'retry') return { initiator: 'merchant', sequence: 'unscheduled' };
  const isRenewal = order.subscription_id !== null && order.subscription_cycle !== null;
  return isRenewal ? { initiator: 'merchant', sequence: 'subsequent' } : { initiator: 'customer', sequence: 'first' };
}

/** What live processors learn about a charge. The sandbox needs none of it. */
export function aboutCharge(
  path: ChargePath,
  state: OrderState,
  card: CardOfOrder,
): Pick<VaultCharge, 'credential' | 'billing'> {
  if (state.mode === 'sandbox') return {};
  const { billing } = card;
  return { credential: credentialOf(path, state), ...(billing && { billing: toBilling(billing) }) };
}
