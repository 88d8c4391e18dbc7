/** What a key may be allowed to do. A key stores its own list, so one added here is not gained by older keys. */
export const permissions = [
  'customers:read',
  'customers:write',
  'payment_methods:read',
  'payment_methods:write',
  'products:read',
  'products:write',
  'orders:read',
  'orders:write',
  'transactions:read',
  'plans:read',
  'subscriptions:read',
  'subscriptions:write',
  'coupons:read',
  'coupons:write',
  'team_members:read',
  'team_members:write',
  'webhook_endpoints:read',
  'webhook_endpoints:write',
  'events:read',
  'requests:read',
] as const;

export type Permission = (typeof permissions)[number];

/** What a member of the team may be allowed to do: all of that, and what the API does not offer. */
export const memberPermissions = [
  ...permissions,
  'plans:write',
  'company:read',
  'company:write',
  'api_keys:read',
  'api_keys:write',
  'audit_log:read',
] as const;

export type MemberPermission = (typeof memberPermissions)[number];

/** What the members may be allowed to do whom a key invites, whatever else the key itself may do. */
export const givenByKeys: readonly string[] = memberPermissions.filter((permission) => permission !== 'company:write');

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text);
}
