import type { TSchema } from 'typebox';
import { customer } from '../customers/schemas.ts';
import type { EventType } from '../events/service.ts';
import { order } from '../orders/schemas.ts';
import { paymentMethod } from '../payment-methods/schemas.ts';
import { subscription } from '../subscriptions/schemas.ts';
import { teamMember } from '../team/schemas.ts';
import { endpoint } from './schemas.ts';

/** What a test event carries: the object that the API reference shows as an example. */

const schemas: Readonly<Record<string, TSchema & { readonly examples?: unknown }>> = {
  customer,
  payment_method: paymentMethod,
  order,
  subscription,
  team_member: teamMember,
  webhook_endpoint: endpoint,
};

export function exampleOf(type: EventType): object {
  const examples = schemas[type.split('.')[0] ?? '']?.examples;
  const [first] = Array.isArray(examples) ? (examples as readonly object[]) : [];
  return first ?? {};
}
