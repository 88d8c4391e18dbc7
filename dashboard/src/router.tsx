import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  retainSearchParams,
} from '@tanstack/react-router';
import { Toasts } from './components/toasts.tsx';
import { Crash, NotFound } from './components/not-found.tsx';
import { Shell } from './components/shell.tsx';

/** The routes. Each page is a separate file that is loaded when it is first opened. */

type Loader = () => Promise<Record<string, unknown>>;
type PageEntry = readonly [path: string, load: Loader, component: string];

const openPages: readonly PageEntry[] = [
  ['/login', () => import('./pages/auth/login.tsx'), 'LoginPage'],
  ['/sign-up', () => import('./pages/auth/sign-up.tsx'), 'SignUpPage'],
  ['/forgot-password', () => import('./pages/auth/forgot-password.tsx'), 'ForgotPasswordPage'],
  ['/reset-password', () => import('./pages/auth/reset-password.tsx'), 'ResetPasswordPage'],
  ['/invitations/$token', () => import('./pages/auth/invitation.tsx'), 'InvitationPage'],
];

const companyPages: readonly PageEntry[] = [
  ['/home', () => import('./pages/home/home.tsx'), 'HomePage'],
  ['/account', () => import('./pages/account/account.tsx'), 'AccountPage'],
  ['/customers', () => import('./pages/customers/customers.tsx'), 'CustomersPage'],
  ['/customers/$id', () => import('./pages/customers/customer.tsx'), 'CustomerPage'],
  ['/orders', () => import('./pages/orders/orders.tsx'), 'OrdersPage'],
  ['/orders/new', () => import('./pages/orders/new-order.tsx'), 'NewOrderPage'],
  ['/orders/$id', () => import('./pages/orders/order.tsx'), 'OrderPage'],
  ['/subscriptions', () => import('./pages/subscriptions/subscriptions.tsx'), 'SubscriptionsPage'],
  ['/subscriptions/new', () => import('./pages/subscriptions/new-subscription.tsx'), 'NewSubscriptionPage'],
  ['/subscriptions/$id', () => import('./pages/subscriptions/subscription.tsx'), 'SubscriptionPage'],
  ['/transactions', () => import('./pages/transactions/transactions.tsx'), 'TransactionsPage'],
  ['/transactions/$id', () => import('./pages/transactions/transaction.tsx'), 'TransactionPage'],
  ['/disputes', () => import('./pages/disputes/disputes.tsx'), 'DisputesPage'],
  ['/disputes/$id', () => import('./pages/disputes/dispute.tsx'), 'DisputePage'],
  ['/in-doubt', () => import('./pages/transactions/in-doubt.tsx'), 'InDoubtPage'],
  ['/products', () => import('./pages/products/products.tsx'), 'ProductsPage'],
  ['/products/$id', () => import('./pages/products/product.tsx'), 'ProductPage'],
  ['/plans', () => import('./pages/plans/plans.tsx'), 'PlansPage'],
  ['/plans/new', () => import('./pages/plans/new-plan.tsx'), 'NewPlanPage'],
  ['/plans/$id', () => import('./pages/plans/plan.tsx'), 'PlanPage'],
  ['/coupons', () => import('./pages/coupons/coupons.tsx'), 'CouponsPage'],
  ['/coupons/new', () => import('./pages/coupons/new-coupon.tsx'), 'NewCouponPage'],
  ['/coupons/$id', () => import('./pages/coupons/coupon.tsx'), 'CouponPage'],
  ['/payment-links', () => import('./pages/payment-links/payment-links.tsx'), 'PaymentLinksPage'],
  ['/payment-links/new', () => import('./pages/payment-links/new-payment-link.tsx'), 'NewPaymentLinkPage'],
  ['/payment-links/$id', () => import('./pages/payment-links/payment-link.tsx'), 'PaymentLinkPage'],
  ['/developers', () => import('./pages/developers/developers.tsx'), 'DevelopersPage'],
  ['/developers/api-keys', () => import('./pages/developers/api-keys.tsx'), 'ApiKeysPage'],
  ['/developers/events', () => import('./pages/developers/events.tsx'), 'EventsPage'],
  ['/developers/events/$id', () => import('./pages/developers/event.tsx'), 'EventPage'],
  ['/developers/requests', () => import('./pages/developers/requests.tsx'), 'RequestsPage'],
  ['/developers/webhooks', () => import('./pages/webhooks/webhooks.tsx'), 'WebhooksPage'],
  ['/developers/webhooks/$id', () => import('./pages/webhooks/webhook.tsx'), 'WebhookPage'],
  ['/team', () => import('./pages/team/team.tsx'), 'TeamPage'],
  ['/roles', () => import('./pages/team/roles.tsx'), 'RolesPage'],
  ['/audit-log', () => import('./pages/team/audit-log.tsx'), 'AuditLogPage'],
  ['/settings', () => import('./pages/settings/settings.tsx'), 'SettingsPage'],
  ['/emails', () => import('./pages/branding/emails.tsx'), 'EmailsPage'],
  ['/settings/branding', () => import('./pages/branding/branding.tsx'), 'BrandingPage'],
  ['/settings/processors', () => import('./pages/settings/processors.tsx'), 'ProcessorsPage'],
  ['/settings/going-live', () => import('./pages/settings/going-live.tsx'), 'GoingLivePage'],
  ['/sandbox/clock', () => import('./pages/sandbox/clock.tsx'), 'ClockPage'],
  ['/sandbox/test-cards', () => import('./pages/sandbox/test-cards.tsx'), 'TestCardsPage'],
];

const rootRoute = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
  notFoundComponent: NotFound,
  // Every link stays in the company that the address names.
  search: { middlewares: [retainSearchParams(['company' as never])] },
  errorComponent: Crash,
});

const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: 'shell', component: Shell });
/** The start page depends on the role. */
const startRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/start.tsx'), 'StartPage'),
});

const open = openPages.map(([path, load, component]) =>
  createRoute({ getParentRoute: () => rootRoute, path, component: lazyRouteComponent(load, component) }),
);
const inShell = companyPages.map(([path, load, component]) =>
  createRoute({ getParentRoute: () => shellRoute, path, component: lazyRouteComponent(load, component) }),
);

export function makeRouter() {
  return createRouter({
    routeTree: rootRoute.addChildren([...open, shellRoute.addChildren([startRoute, ...inShell])]),
    defaultPreload: 'intent',
    scrollRestoration: true,
    // Filters are plain text in the URL, so that people can read them.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const set = Object.entries(search as Record<string, string | undefined>).filter(
        (entry) => entry[1] !== undefined,
      );
      const text = new URLSearchParams(set as [string, string][]).toString();
      return text === '' ? '' : `?${text}`;
    },
  });
}
