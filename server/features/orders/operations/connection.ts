import type { VaultCharge } from '../../../vault/vault.ts';
import { toBilling } from '../../payment-methods/schemas.ts';
import type { ChargeCause } from './operation-moves.ts';
import { type CardOfOrder, isFirstCharge, type OrderState } from '../order.ts';
import type { Shipping } from '../schemas.ts';

/** What a live operation tells the vault beside the operation itself. */

/** Names the connection of an operation; nothing for the sandbox, and for what version 0.1.0 sent. */
export function connectionOf({ connection_id }: { readonly connection_id: string | null }): {
  readonly connectionId?: string;
} {
  return connection_id === null ? {} : { connectionId: connection_id };
}

/** Who started a charge, and whether it is one of a series. */
const credentials: Readonly<Record<ChargeCause, NonNullable<VaultCharge['credential']>>> = {
  order: { initiator: 'customer', sequence: 'first' },
  first_charge: { initiator: 'customer', sequence: 'first', startsSeries: true },
  plan_change: { initiator: 'merchant', sequence: 'unscheduled' },
  retry: { initiator: 'merchant', sequence: 'unscheduled' },
  renewal: { initiator: 'merchant', sequence: 'subsequent' },
};

function toAddress({ postal_code: postalCode, ...shipping }: Shipping): NonNullable<VaultCharge['shipping']> {
  return { ...shipping, postalCode };
}

/** What live processors learn about a charge. The sandbox needs none of it. */
export function aboutCharge(
  cause: ChargeCause,
  state: OrderState,
  card: CardOfOrder,
): Pick<
  VaultCharge,
  'credential' | 'billing' | 'shipping' | 'keepsCard' | 'customerIp' | 'presence' | 'authenticates' | 'authentication'
> {
  const credential = credentialOf(cause, state);
  const { customerIp, presence, authentication } = state;
  if (state.mode === 'sandbox') {
    return state.authenticates ? { authenticates: true, credential, ...(presence && { presence }) } : {};
  }
  const { billing, isListed } = card;
  const { shipping } = state.order;
  // A visitor who pays once on a checkout page, and may not be the customer, has not agreed that the card is kept.
  const keepsCard = isListed || state.order.subscription_id !== null;
  const isStored = keepsCard || credential.initiator === 'merchant';
  return {
    keepsCard,
    ...(isStored && { credential }),
    ...(billing && { billing: toBilling(billing) }),
    ...(shipping && { shipping: toAddress(shipping) }),
    ...(customerIp && { customerIp }),
    ...(presence && { presence }),
    ...(authentication && { authentication }),
  };
}

/** A subscription that starts later is first charged by the schedule, and an order may say that the customer is absent. */
export function credentialOf(
  cause: ChargeCause,
  { order, presence }: OrderState,
): NonNullable<VaultCharge['credential']> {
  // The customer pays what was declined before, and the bank can ask.
  if ((cause === 'retry' || cause === 'plan_change') && presence) return credentials.order;
  const isFirst = cause === 'renewal' && isFirstCharge(order);
  const isAbsent = cause === 'order' && order.off_session === true;
  return credentials[isFirst ? 'first_charge' : isAbsent ? 'retry' : cause];
}
