import type { IconName } from './components/icons.tsx';
import { type ThemeChoice, chooseTheme } from './theme.ts';
import { shell } from './texts/common.ts';
import type { Company } from './types.ts';

/** What the command palette can do, besides opening pages. */

export interface Action {
  readonly title: string;
  /** Further words by which it is found. */
  readonly words: string;
  readonly icon: IconName;
  readonly permission?: string;
  /** A page of the dashboard. With `open`, it opens a dialog of the page. */
  readonly to?: string;
  readonly open?: string;
  /** A page outside of the dashboard. */
  readonly href?: string;
  readonly run?: () => void;
}

const texts = shell.actions;

const always: readonly Action[] = [
  { title: texts.order, words: 'new charge payment', icon: 'orders', permission: 'orders:write', to: '/orders/new' },
  {
    title: texts.subscription,
    words: 'new subscribe',
    icon: 'subscriptions',
    permission: 'subscriptions:write',
    to: '/subscriptions/new',
  },
  {
    title: texts.cancelSubscription,
    words: 'stop end pause',
    icon: 'subscriptions',
    permission: 'subscriptions:write',
    to: '/subscriptions',
  },
  {
    title: texts.customer,
    words: 'new add',
    icon: 'customers',
    permission: 'customers:write',
    to: '/customers',
    open: 'add',
  },
  {
    title: texts.paymentLink,
    words: 'new checkout',
    icon: 'link',
    permission: 'payment_links:write',
    to: '/payment-links/new',
  },
  {
    title: texts.product,
    words: 'new add',
    icon: 'products',
    permission: 'products:write',
    to: '/products',
    open: 'add',
  },
  { title: texts.plan, words: 'new price', icon: 'plans', permission: 'plans:write', to: '/plans/new' },
  { title: texts.coupon, words: 'new discount', icon: 'coupons', permission: 'coupons:write', to: '/coupons/new' },
  {
    title: texts.invite,
    words: 'team member user',
    icon: 'team',
    permission: 'team_members:write',
    to: '/team',
    open: 'add',
  },
  {
    title: texts.apiKey,
    words: 'new secret',
    icon: 'key',
    permission: 'api_keys:write',
    to: '/developers/api-keys',
    open: 'add',
  },
  {
    title: texts.endpoint,
    words: 'new webhook url',
    icon: 'webhook',
    permission: 'webhook_endpoints:write',
    to: '/developers/webhooks',
    open: 'add',
  },
  { title: texts.guides, words: 'docs documentation help', icon: 'book', href: '/docs' },
  { title: texts.reference, words: 'docs documentation api', icon: 'developers', href: '/docs/api/' },
  ...(['light', 'dark', 'system'] as const).map((theme: ThemeChoice) => ({
    title: texts.theme(shell.themes[theme]),
    words: 'theme mode color appearance',
    icon: 'sun' as const,
    run: () => chooseTheme(theme),
  })),
];

/** On the page of an order, the order itself is refunded. */
function refundOf(pathname: string): Action {
  const common = { words: 'return money', icon: 'orders', permission: 'orders:write' } as const;
  const order = /^\/orders\/[0-9a-f-]{36}$/.exec(pathname)?.[0];
  return order
    ? { ...common, title: texts.refundThis, to: order, open: 'refund' }
    : { ...common, title: texts.refund, to: '/orders' };
}

export function actionsFor(company: Company, pathname: string, more: readonly Action[]): Action[] {
  return [...always, refundOf(pathname), ...more].filter(
    ({ permission }) => !permission || company.permissions.includes(permission),
  );
}
