import { type MemberPermission, memberPermissions, permissions } from '../../http/permissions.ts';

/** The built-in roles of every company. */
export interface RoleTemplate {
  readonly name: string;
  readonly description: string;
  /** The page that the dashboard opens first. */
  readonly defaultPage: string;
  readonly permissions: readonly MemberPermission[];
}

// The request log shows what other members do, so only developers can read it.
const reads = permissions.filter((permission) => permission.endsWith(':read') && permission !== 'requests:read');
const all = (...resources: readonly string[]): MemberPermission[] =>
  memberPermissions.filter((permission) => resources.includes(permission.split(':')[0] ?? ''));
const together = (...lists: readonly (readonly MemberPermission[])[]): MemberPermission[] =>
  memberPermissions.filter((permission) => lists.some((list) => list.includes(permission)));

export const roleTemplates: readonly RoleTemplate[] = [
  {
    name: 'Owner',
    description: 'Full access.',
    defaultPage: '/home',
    permissions: memberPermissions,
  },
  {
    name: 'Admin',
    description: 'Full access except company settings.',
    defaultPage: '/home',
    permissions: memberPermissions.filter((permission) => permission !== 'company:write'),
  },
  {
    name: 'Developer',
    description: 'API keys, webhooks, logs and sandbox tools.',
    defaultPage: '/developers',
    permissions: together(
      permissions.filter((permission) => permission !== 'team_members:write'),
      all('plans', 'api_keys'),
      ['company:read'],
    ),
  },
  {
    name: 'Finance',
    description: 'Orders, refunds, subscriptions and coupons.',
    defaultPage: '/orders',
    permissions: together(
      reads,
      all('orders', 'transactions', 'plans', 'subscriptions', 'coupons', 'credit', 'invoices'),
      ['company:read'],
    ),
  },
  {
    name: 'Support',
    description: 'Customers and their cards, orders and subscriptions.',
    defaultPage: '/customers',
    permissions: together(
      all('customers', 'payment_methods', 'orders', 'subscriptions', 'credit'),
      reads.filter((permission) => !permission.startsWith('team_members') && !permission.startsWith('webhook')),
    ),
  },
  {
    name: 'Viewer',
    description: 'Read-only access.',
    defaultPage: '/home',
    permissions: together(reads, ['company:read']),
  },
];
