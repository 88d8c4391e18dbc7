/** The permissions of API keys. Each key stores its list, so existing keys do not get a permission that is added here. */
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
  'credit:read',
  'credit:write',
  'team_members:read',
  'team_members:write',
  'webhook_endpoints:read',
  'webhook_endpoints:write',
  'events:read',
  'requests:read',
  'checkout_sessions:read',
  'checkout_sessions:write',
  'payment_links:read',
  'payment_links:write',
  'customer_sessions:read',
  'customer_sessions:write',
  'invoices:read',
  'invoices:write',
  'agents:write',
] as const;

export type Permission = (typeof permissions)[number];

/** What a key has that is created without a list. The right of agents to change things is always named. */
export const usualPermissions: readonly Permission[] = permissions.filter(
  (permission) => permission !== 'agents:write',
);

/** The permissions of team members: those of keys, and some for routes that only the dashboard has. */
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

/** Keys that are older than these do not have them. */
const newerPermissions: readonly string[] = [
  'credit:read',
  'credit:write',
  'invoices:read',
  'invoices:write',
] satisfies Permission[];

/**
 * The permissions that a key can grant. A key with all usual permissions counts as an admin and can invite into every role
 * except Owner, although keys cannot have all permissions of a role. If it is older than some of them, it cannot grant those.
 * Any other key can grant its own permissions.
 */
export function rightsOfKey(list: readonly string[]): readonly string[] {
  const isFull = usualPermissions.every((one) => list.includes(one) || newerPermissions.includes(one));
  return isFull ? ofAdmins.filter((one) => list.includes(one) || !newerPermissions.includes(one)) : list;
}

/** Permissions that allow more than their name suggests. The API reference, the docs and the dashboard show these texts. */
export const permissionNotes: Readonly<Partial<Record<MemberPermission, string>>> = {
  'events:read':
    'Shows complete objects: customers, cards (without numbers), orders, subscriptions and team members, as they were at the time of each event.',
  'webhook_endpoints:read': 'Shows the events for an endpoint, with complete objects.',
  'webhook_endpoints:write': 'Can send every event, with complete objects, to any URL.',
  'requests:read': 'Shows the bodies of all requests and responses, with card numbers and secrets masked.',
  'checkout_sessions:write':
    'Creates checkout pages for any customer. Such a page shows the name, the email address and the saved cards (without numbers) of the customer.',
  'customer_sessions:write':
    'Creates links to the page of any customer, which shows the name, the email address, the cards (without numbers) and the payments of the customer.',
  'team_members:write':
    'Can invite members into roles whose permissions the key or member has. A key with every permission but agents:write counts as an Admin.',
  'agents:write':
    'Lets agents that use the key at /mcp change something: in a sandbox at once, in live only what a person approves. With a live key that has it, nothing else can be changed.',
};

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text);
}
