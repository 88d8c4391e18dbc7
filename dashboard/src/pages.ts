import { type ComponentType, lazy } from 'react';

/** The pages by path. Each is a separate file that is loaded when it is first opened. */

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
  // The start page depends on the role.
  ['/', () => import('./pages/start.tsx'), 'StartPage'],
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
  ['/invoices', () => import('./pages/invoices/invoices.tsx'), 'InvoicesPage'],
  ['/invoices/$id', () => import('./pages/invoices/invoice.tsx'), 'InvoicePage'],
  ['/disputes', () => import('./pages/disputes/disputes.tsx'), 'DisputesPage'],
  ['/disputes/$id', () => import('./pages/disputes/dispute.tsx'), 'DisputePage'],
  ['/approvals', () => import('./pages/approvals/approvals.tsx'), 'ApprovalsPage'],
  ['/approvals/$id', () => import('./pages/approvals/approvals.tsx'), 'ApprovalPage'],
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
  ['/declarations', () => import('./pages/declarations/declarations.tsx'), 'DeclarationsPage'],
  ['/emails', () => import('./pages/branding/emails.tsx'), 'EmailsPage'],
  ['/settings/branding', () => import('./pages/branding/branding.tsx'), 'BrandingPage'],
  ['/settings/invoices', () => import('./pages/settings/invoices.tsx'), 'InvoiceSettingsPage'],
  ['/settings/processors', () => import('./pages/settings/processors.tsx'), 'ProcessorsPage'],
  ['/settings/rehearsal', () => import('./pages/settings/rehearsal.tsx'), 'RehearsalPage'],
  ['/settings/going-live', () => import('./pages/settings/going-live.tsx'), 'GoingLivePage'],
  ['/sandbox/clock', () => import('./pages/sandbox/clock.tsx'), 'ClockPage'],
  ['/sandbox/test-cards', () => import('./pages/sandbox/test-cards.tsx'), 'TestCardsPage'],
];

export interface Page {
  /** Pages in the shell are those of a signed-in member. */
  readonly inShell: boolean;
  readonly form: RegExp;
  readonly load: () => Promise<void>;
  /** The same one at each call. */
  readonly component: () => ComponentType;
}

const reloadedFor = 'svc.reloaded';

/** After an update of the service, its old files are gone: the page is then loaded again, once. */
async function loadOrReload(load: Loader, component: string): Promise<{ default: ComponentType }> {
  try {
    const loaded = (await load())[component] as ComponentType;
    sessionStorage.removeItem(reloadedFor);
    return { default: loaded };
  } catch (error) {
    if (!navigator.onLine || sessionStorage.getItem(reloadedFor) === component) throw error;
    sessionStorage.setItem(reloadedFor, component);
    location.reload();
    return new Promise(() => undefined);
  }
}

function pageOf([path, load, component]: PageEntry, inShell: boolean): Page {
  const form = new RegExp(`^${path.replaceAll(/\$(\w+)/g, '(?<$1>[^/]+)')}/?$`);
  let loaded: ComponentType | undefined;
  let shown: ComponentType | undefined;
  return {
    inShell,
    form,
    async load() {
      loaded = (await load())[component] as ComponentType;
    },
    // What is loaded needs no `lazy`, of which React shows the first 300 ms late.
    component: () => (shown ??= loaded ?? lazy(() => loadOrReload(load, component))),
  };
}

const pages: readonly Page[] = [
  ...openPages.map((entry) => pageOf(entry, false)),
  ...companyPages.map((entry) => pageOf(entry, true)),
];

/** `/orders/new` comes before `/orders/$id` in the list. */
export const pageAt = (pathname: string): Page | undefined => pages.find(({ form }) => form.test(pathname));

export function paramsOf(pathname: string): Readonly<Record<string, string>> {
  const groups = pageAt(pathname)?.form.exec(pathname)?.groups ?? {};
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decoded(value)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
