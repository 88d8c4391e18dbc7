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

export type ReadPermission = Extract<MemberPermission, `${string}:read`>;

const ofAdmins: readonly string[] = memberPermissions.filter((permission) => permission !== 'company:write');

/**
 * What the permissions of a key amount to. A key that has all of them stands for an admin: it invites into every role but
 * Owner, although keys cannot have all permissions of a role. Any other key amounts to its own list.
 */
export function rightsOfKey(list: readonly string[]): readonly string[] {
  return permissions.every((permission) => list.includes(permission)) ? ofAdmins : list;
}

/** Permissions that show more than their names say. The API reference, the docs and the dialogs that grant them say so. */
export const permissionNotes: Readonly<Partial<Record<MemberPermission, string>>> = {
  'events:read':
    'Shows whole objects: customers, cards (never their numbers), orders, subscriptions and team members, as they were at each event.',
  'webhook_endpoints:read': 'Shows the events sent to an endpoint, with the whole objects in them.',
  'webhook_endpoints:write': 'Can send every event, with the whole object in it, to any URL.',
  'requests:read':
    'Shows the bodies of all requests and answers, whatever they are about. Card numbers and secrets are masked.',
  'team_members:write':
    'Invites into roles whose permissions the caller has. A key with every permission counts as an Admin.',
};

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text);
}
