import type { IconName } from './components/icons.tsx';
import { shell } from './texts/common.ts';
import type { Company } from './types.ts';

interface Place {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  /** The permission that is required to see the page. */
  readonly permission?: string;
  readonly sandboxOnly?: boolean;
  /** Shows how many objects wait for the merchant. */
  readonly counts?: 'disputes' | 'inDoubt';
  /** Reached from another page and from the command palette, not from the navigation. */
  readonly hidden?: boolean;
  /** Further words by which the command palette finds it. */
  readonly words?: string;
}

export interface PlaceGroup {
  readonly label: string | null;
  /** Closed until the merchant opens it, or one of its pages. */
  readonly folds?: boolean;
  readonly places: readonly Place[];
}

const { places, groups } = shell;

/** Every page of the navigation and the command palette. */
const allGroups: readonly PlaceGroup[] = [
  {
    label: null,
    places: [
      { to: '/home', label: places.home, icon: 'home' },
      { to: '/orders', label: places.orders, icon: 'orders', permission: 'orders:read' },
      { to: '/customers', label: places.customers, icon: 'customers', permission: 'customers:read' },
      { to: '/subscriptions', label: places.subscriptions, icon: 'subscriptions', permission: 'subscriptions:read' },
      { to: '/payment-links', label: places.paymentLinks, icon: 'link', permission: 'payment_links:read' },
      {
        to: '/transactions',
        label: places.transactions,
        icon: 'transactions',
        permission: 'transactions:read',
        counts: 'inDoubt',
      },
      {
        to: '/invoices',
        label: places.invoices,
        icon: 'list',
        permission: 'invoices:read',
        words: 'credit notes tax numbers documents',
      },
      { to: '/in-doubt', label: places.inDoubt, icon: 'warning', permission: 'transactions:read', hidden: true },
      {
        to: '/approvals',
        label: places.approvals,
        icon: 'shield',
        hidden: true,
        words: 'agents mcp ai refund approve',
      },
      { to: '/disputes', label: places.disputes, icon: 'flag', permission: 'orders:read', counts: 'disputes' },
    ],
  },
  {
    label: groups.catalog,
    places: [
      { to: '/products', label: places.products, icon: 'products', permission: 'products:read' },
      { to: '/plans', label: places.plans, icon: 'plans', permission: 'plans:read' },
      { to: '/coupons', label: places.coupons, icon: 'coupons', permission: 'coupons:read' },
    ],
  },
  {
    label: groups.company,
    places: [
      { to: '/team', label: places.team, icon: 'team', permission: 'team_members:read' },
      { to: '/roles', label: places.roles, icon: 'shield', permission: 'team_members:read' },
      {
        to: '/declarations',
        label: places.declarations,
        icon: 'flag',
        permission: 'customers:read',
        words: 'cancellations withdrawals europe',
      },
      { to: '/emails', label: places.emails, icon: 'mail', permission: 'customers:read', words: 'mailbox receipts' },
      {
        to: '/audit-log',
        label: places.auditLog,
        icon: 'list',
        permission: 'audit_log:read',
        words: 'history changes',
      },
      {
        to: '/settings',
        label: places.settings,
        icon: 'settings',
        permission: 'company:read',
        words: 'company name time zone retries dunning api version',
      },
      {
        to: '/settings/going-live',
        label: places.goingLive,
        icon: 'bolt',
        permission: 'company:read',
        hidden: true,
        words: 'settings launch checklist',
      },
      {
        to: '/settings/rehearsal',
        label: places.rehearsal,
        icon: 'bolt',
        permission: 'company:read',
        hidden: true,
        words: 'settings test account test mode processor try',
      },
      {
        to: '/settings/processors',
        label: places.processors,
        icon: 'bolt',
        permission: 'company:read',
        hidden: true,
        words: 'settings payment gateway stripe adyen nmi acquirer rules',
      },
      {
        to: '/settings/invoices',
        label: places.invoiceSettings,
        icon: 'settings',
        permission: 'company:read',
        hidden: true,
        words: 'settings numbers series prefix seller legal name',
      },
      {
        to: '/settings/branding',
        label: places.branding,
        icon: 'settings',
        permission: 'company:read',
        hidden: true,
        words: 'settings logo color receipts customer page support',
      },
      { to: '/account', label: places.account, icon: 'customers', hidden: true, words: 'settings password two-factor' },
    ],
  },
  {
    label: groups.developers,
    folds: true,
    places: [
      { to: '/developers', label: places.developers, icon: 'developers' },
      {
        to: '/developers/api-keys',
        label: places.apiKeys,
        icon: 'key',
        permission: 'api_keys:read',
        words: 'secret publishable token',
      },
      { to: '/developers/webhooks', label: places.webhooks, icon: 'webhook', permission: 'webhook_endpoints:read' },
      { to: '/developers/events', label: places.events, icon: 'bolt', permission: 'events:read' },
      {
        to: '/developers/requests',
        label: places.requests,
        icon: 'list',
        permission: 'requests:read',
        words: 'req_ api calls',
      },
    ],
  },
  {
    label: groups.sandbox,
    folds: true,
    places: [
      {
        to: '/sandbox/clock',
        label: places.clock,
        icon: 'sandbox',
        permission: 'subscriptions:read',
        sandboxOnly: true,
      },
      { to: '/sandbox/test-cards', label: places.testCards, icon: 'card', sandboxOnly: true },
    ],
  },
];

export function placesOf(company: Company): PlaceGroup[] {
  return allGroups
    .map(({ places: list, ...group }) => ({
      ...group,
      places: list.filter(
        ({ permission, sandboxOnly }) =>
          (!permission || company.permissions.includes(permission)) && (!sandboxOnly || company.mode === 'sandbox'),
      ),
    }))
    .filter(({ places: list }) => list.length > 0);
}

/** The icon of the page, or of the list that it belongs to. */
export function placeIcon(pathname: string): IconName {
  const fitting = allGroups
    .flatMap((group) => group.places)
    .filter(({ to }) => pathname === to || pathname.startsWith(`${to}/`));
  return fitting.toSorted((one, other) => other.to.length - one.to.length)[0]?.icon ?? 'list';
}

/** The guide that explains a page and the pages below it. The most precise path comes first. */
const guides: readonly (readonly [path: string, guide: string])[] = [
  ['/orders', 'orders'],
  ['/customers', 'customer-page'],
  ['/subscriptions', 'subscriptions'],
  ['/plans', 'subscriptions'],
  ['/payment-links', 'checkout'],
  ['/transactions', 'orders'],
  ['/invoices', 'invoices'],
  ['/in-doubt', 'reliability'],
  ['/approvals', 'agents'],
  ['/disputes', 'disputes'],
  ['/coupons', 'coupons'],
  ['/team', 'team'],
  ['/roles', 'team'],
  ['/declarations', 'customer-page'],
  ['/emails', 'emails'],
  ['/audit-log', 'team'],
  ['/settings/processors', 'going-live'],
  ['/settings/rehearsal', 'rehearsal'],
  ['/settings/going-live', 'going-live'],
  ['/settings/invoices', 'invoices'],
  ['/settings/branding', 'emails'],
  ['/developers/webhooks', 'webhooks'],
  ['/developers/events', 'webhooks'],
  ['/developers/requests', 'idempotency-and-errors'],
  ['/developers/api-keys', 'quickstart'],
  ['/developers', 'quickstart'],
  ['/sandbox/clock', 'subscriptions'],
  ['/sandbox/test-cards', 'test-cards'],
];

export function guideOf(pathname: string): string | undefined {
  return guides.find(([path]) => pathname === path || pathname.startsWith(`${path}/`))?.[1];
}

/** Pages that require a write permission. */
export const neededFor: Readonly<Record<string, string>> = {
  '/orders/new': 'orders:write',
  '/subscriptions/new': 'subscriptions:write',
  '/plans/new': 'plans:write',
  '/coupons/new': 'coupons:write',
  '/payment-links/new': 'payment_links:write',
};

export const pageOfFound = {
  customer: (id: string) => `/customers/${id}`,
  order: (id: string) => `/orders/${id}`,
  product: (id: string) => `/products/${id}`,
  subscription: (id: string) => `/subscriptions/${id}`,
  plan: (id: string) => `/plans/${id}`,
  coupon: (id: string) => `/coupons/${id}`,
  event: (id: string) => `/developers/events/${id}`,
  transaction: (id: string) => `/transactions/${id}`,
} as const;
