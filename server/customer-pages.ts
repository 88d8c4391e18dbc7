import type { FastifyInstance } from 'fastify';
import type { Company } from './company.ts';
import type { Config } from './config.ts';
import { deliveryOf } from './email-delivery.ts';
import { checkoutPageRoutes } from './features/checkout-sessions/page-routes.ts';
import {
  type CheckoutPageDependencies,
  type LinkDependencies,
  sessionByToken,
} from './features/checkout-sessions/service.ts';
import { confirmationPageRoutes } from './features/confirmations/page-routes.ts';
import { companyOfConfirmation, orderOfConfirmation } from './features/confirmations/token.ts';
import type { EmailDependencies } from './features/customer-emails/service.ts';
import { companyById } from './features/companies/service.ts';
import {
  companyPageRoutes,
  type EmailLinkDependencies,
  endedPageRoutes,
} from './features/customer-sessions/email-link.ts';
import { declarationPage, declarationPageRoutes } from './features/declarations/page-routes.ts';
import { customerPageRoutes } from './features/customer-sessions/page-routes.ts';
import type { AccountDependencies } from './features/customer-sessions/page.ts';
import { customerPageLink, customerSessionByToken, endedSessionByToken } from './features/customer-sessions/service.ts';
import type { CardDependencies } from './features/payment-methods/service.ts';
import { companyNames, partsOf } from './features/payment-links/names.ts';
import { linkByToken } from './features/payment-links/service.ts';
import type { ImageLinks } from './features/products/service.ts';
import type { Customer } from './features/customers/schemas.ts';
import { customersById } from './features/customers/service.ts';
import type { Order } from './features/orders/schemas.ts';
import { logoWith } from './features/profile/service.ts';
import { isPaid, linkedReceipt, type ReceiptLinks } from './features/receipts/service.ts';
import { isTeamAddress } from './features/team/service.ts';
import type { HttpDependencies } from './http/api-caller.ts';
import { mountRoutes } from './http/mount.ts';
import { type PageDependencies, type PageRoute, pageSteps } from './http/page-caller.ts';
import { companyOfAddress, companyOfToken } from './http/page-token.ts';
import { limits } from './limits.ts';
import { mountCustomerEmails } from './pages/customer-emails.ts';
import { mountLogos } from './pages/logos.ts';
import { mountPaymentLinks } from './pages/payment-links.ts';
import { mountReceipts } from './pages/receipts.ts';
import { mountSandboxBank } from './pages/sandbox-bank.ts';
import type { Clock } from './platform/clock.ts';
import { daySeconds, hourMs } from './platform/durations.ts';
import type { RateLimiter } from './platform/rate-limiter/rate-limiter.ts';
import type { ServiceKeys } from './platform/service-keys.ts';
import type { OfCompany, RequestContext } from './request-context.ts';
import type { AppShards } from './shard.ts';
import type { Vault } from './vault/vault.ts';

/** Connects the pages that the customers of a merchant open: checkout, customer page, receipts, and what emails link to. */

interface CustomerPages {
  readonly pageLinks: LinkDependencies;
  readonly checkout: OfCompany<CheckoutPageDependencies & Pick<AccountDependencies, 'receiptUrlOf' | 'invoiceLinks'>>;
  readonly receipts: ReceiptLinks;
  readonly emailLinks: EmailLinkDependencies;
}

interface Surroundings
  extends Pick<CheckoutPageDependencies, 'references'>,
    Pick<EmailLinkDependencies, 'background' | 'log'> {
  readonly config: Pick<Config, 'SVC_RATE_LIMIT_REFUSED_CARDS' | 'SMTP_URL' | 'SVC_BASE_URL'>;
  readonly baseUrl: string;
  readonly shards: AppShards;
  readonly clock: Clock;
  readonly keys: ServiceKeys;
  readonly limiter: RateLimiter;
}

/** What writes emails to customers. */
export const emailsOf = ({
  baseUrl,
  keys,
  clock,
}: Pick<Surroundings, 'baseUrl' | 'keys' | 'clock'>): EmailDependencies => ({
  baseUrl,
  clock,
  linkKey: keys['customer-links'],
  mailKey: keys.mails,
  customerPageLink: async (context, { id: customerId, email }) => {
    const seconds = limits.customerPageLinkInEmailDays * daySeconds;
    return (await customerPageLink(context, { baseUrl }, { customerId, email, seconds }))?.url;
  },
});

/** What the pages and the routes of the API share. */
export function openCustomerPages(
  { config, baseUrl, shards, clock, keys, limiter, references, background, log }: Surroundings,
  cards: CardDependencies,
  images: ImageLinks,
): CustomerPages {
  const linkKey = keys['page-links'];
  const receipts = { baseUrl, linkKey: keys['customer-links'], clock };
  const guard = { limiter, clock, refusedCards: config.SVC_RATE_LIMIT_REFUSED_CARDS, linkKey };
  const customerOf = async (context: RequestContext, { customer_id }: Order): Promise<Customer | undefined> =>
    (await customersById(context, [customer_id])).get(customer_id);
  const linkFor = async (
    context: RequestContext,
    order: Order,
    customer: Customer | undefined,
  ): Promise<string | null> => {
    if (!isPaid(order)) return null;
    const wanted = { orderId: order.id, refundId: null, expiresAtMs: clock.nowMs() + limits.receiptLinkHours * hourMs };
    return (await linkedReceipt(context, receipts, { ...wanted, customer: customer ?? 'hidden' })).url;
  };
  const receiptUrlOf: AccountDependencies['receiptUrlOf'] = async (context, order) =>
    linkFor(context, order, await customerOf(context, order));
  const delivery = deliveryOf(config);
  const receiptOf: CheckoutPageDependencies['receiptOf'] = async (context, order, profile) => {
    const customer = await customerOf(context, order);
    const receipt_url = await linkFor(context, order, customer);
    const isWritten = receipt_url !== null && order.total > 0 && profile.emails.enabled && profile.emails.order_receipt;
    if (!isWritten || !customer || customer.deleted || delivery === 'stored')
      return { receipt_url, receipt_email: null };
    const isKept =
      context.company.mode !== 'live' && delivery === 'sent' && !(await isTeamAddress(context, customer.email));
    return { receipt_url, receipt_email: { to: customer.email, state: isKept ? 'kept' : delivery } };
  };
  return {
    pageLinks: { baseUrl, linkKey },
    receipts,
    emailLinks: { baseUrl, mailKey: keys.mails, limiter, clock, background, log },
    checkout: ({ company }) => {
      const { db, orders, subscriptions } = shards.of(company);
      const links = { receiptOf, receiptUrlOf, invoiceLinks: receipts, linkKey };
      return { db, baseUrl, orders, subscriptions, references, cards, images, guard, ...links };
    },
  };
}

interface PagesDependencies extends CustomerPages {
  readonly http: HttpDependencies;
  readonly shards: AppShards;
  readonly vault: Vault;
  readonly receiptFont: string | undefined;
}

export function mountCustomerPages(
  app: FastifyInstance,
  { http, shards, vault, pageLinks, checkout, receipts, emailLinks, receiptFont }: PagesDependencies,
): void {
  /** Finds the company that the token of a page names. */
  const companyOf = async (companyId: string): Promise<Company | undefined> =>
    companyById(await shards.find(companyId), companyId);
  const mount = <Subject>(routes: readonly PageRoute<Subject>[], page: PageDependencies<Subject>): void =>
    mountRoutes(app, http, routes, pageSteps(page));
  mount(checkoutPageRoutes(checkout), { http, companyOf, subjectOf: sessionByToken });
  const companyOfName = companyNames(shards.control);
  const companyIdOf = (token: string): string | undefined | Promise<string | undefined> => {
    const name = partsOf(token)?.name;
    return name ? companyOfName(name) : companyOfToken(token);
  };
  mountPaymentLinks(app, { http, companyOf, companyIdOf, sharedToken: true, subjectOf: linkByToken }, pageLinks);
  mount(confirmationPageRoutes(checkout), {
    http,
    companyOf,
    companyIdOf: companyOfConfirmation,
    subjectOf: async ({ company }, token) => {
      const orderId = orderOfConfirmation(pageLinks.linkKey, company.id, token);
      return orderId === undefined ? undefined : { orderId };
    },
  });
  mount(customerPageRoutes(checkout), { http, companyOf, endsAtOnce: true, subjectOf: customerSessionByToken });
  mountSandboxBank(app, { http, companyOf, vault, baseUrl: pageLinks.baseUrl });
  mount(endedPageRoutes(), { http, companyOf, subjectOf: endedSessionByToken });
  mount(companyPageRoutes(emailLinks), {
    http,
    companyOf,
    companyIdOf: companyOfAddress,
    sharedToken: true,
    subjectOf: async () => ({}),
  });
  mount(declarationPageRoutes(emailLinks), {
    http,
    companyOf,
    companyIdOf: companyOfAddress,
    sharedToken: true,
    subjectOf: declarationPage,
  });
  const contextOf = async (companyId: string, requestId: string): Promise<RequestContext | undefined> => {
    const company = await companyOf(companyId);
    if (!company) return undefined;
    const { db, clock } = shards.of(company);
    return { requestId, company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
  };
  mountCustomerEmails(app, { ...receipts, contextOf });
  mountLogos(app, { shardOf: shards.find, logoWith });
  mountReceipts(app, { ...receipts, limiter: http.limiter, fallbackFont: receiptFont, contextOf });
}
