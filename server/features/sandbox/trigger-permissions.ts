import type { Permission } from '../../http/permissions.ts';
import type { EventType } from '../events/service.ts';

type ObjectKind = EventType extends infer Type ? (Type extends `${infer First}.${string}` ? First : never) : never;

/**
 * The permissions that a trigger requires, by the kind of object it creates. The plan of a subscription is archived
 * at once and needs none; API keys cannot have a permission for plans.
 */
const permissionsFor: Readonly<Record<ObjectKind, readonly Permission[]>> = {
  customer: ['customers:write'],
  payment_method: ['customers:write', 'payment_methods:write'],
  order: ['customers:write', 'payment_methods:write', 'products:write', 'orders:write'],
  subscription: ['customers:write', 'payment_methods:write', 'subscriptions:write'],
  invoice: ['customers:write', 'payment_methods:write', 'products:write', 'orders:write'],
  credit_note: ['customers:write', 'payment_methods:write', 'products:write', 'orders:write'],
  checkout_session: ['customers:write', 'payment_methods:write', 'products:write', 'checkout_sessions:write'],
  team_member: ['team_members:write'],
  webhook_endpoint: ['webhook_endpoints:write'],
};

export const permissionsToTrigger = (type: EventType): readonly Permission[] =>
  permissionsFor[type.split('.', 1)[0] as ObjectKind];
