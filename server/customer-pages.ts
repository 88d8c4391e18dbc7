import type { FastifyInstance } from 'fastify';
import type { Company } from './company.ts';
import { checkoutPageRoutes } from './features/checkout-sessions/page-routes.ts';
import {
  type CheckoutPageDependencies,
  type LinkDependencies,
  sessionByToken,
} from './features/checkout-sessions/service.ts';
import { companyById } from './features/companies/service.ts';
import { linkByToken } from './features/payment-links/service.ts';
import { logoWith } from './features/profile/service.ts';
import { isPaid, linkedReceipt, type ReceiptLinks } from './features/receipts/service.ts';
import type { HttpDependencies } from './http/mount.ts';
import { mountPageRoutes } from './http/page-routes.ts';
import { limits } from './limits.ts';
import { mountLogos } from './pages/logos.ts';
import { mountPaymentLinks } from './pages/payment-links.ts';
import { mountReceipts } from './pages/receipts.ts';
import { hourMs } from './platform/durations.ts';
import type { OfCompany, RequestContext } from './request-context.ts';
import type { AppShards } from './shard.ts';

/** Connects the pages that the customers of a merchant open: checkout, payment links, receipts. */

type OfShard = 'db' | 'orders' | 'subscriptions' | 'receiptUrlOf';

/** What the checkout page uses of the shard of its company. */
export function checkoutOf({
  shards,
  receipts,
  ...shared
}: { readonly shards: AppShards; readonly receipts: ReceiptLinks } & Omit<
  CheckoutPageDependencies,
  OfShard
>): OfCompany<CheckoutPageDependencies> {
  const receiptUrlOf: CheckoutPageDependencies['receiptUrlOf'] = async (context, order) => {
    if (!isPaid(order)) return null;
    const expiresAtMs = receipts.clock.nowMs() + limits.receiptLinkHours * hourMs;
    return (await linkedReceipt(context, receipts, order.id, null, expiresAtMs)).url;
  };
  return ({ company }) => {
    const { db, orders, subscriptions } = shards.of(company);
    return { ...shared, db, orders, subscriptions, receiptUrlOf };
  };
}

interface PagesDependencies {
  readonly http: HttpDependencies;
  readonly shards: AppShards;
  readonly pageLinks: LinkDependencies;
  readonly checkout: OfCompany<CheckoutPageDependencies>;
  readonly receipts: ReceiptLinks;
  readonly receiptFont: string | undefined;
}

export function mountCustomerPages(
  app: FastifyInstance,
  { http, shards, pageLinks, checkout, receipts, receiptFont }: PagesDependencies,
): void {
  /** Finds the company that the token of a page names. */
  const companyOf = async (companyId: string): Promise<Company | undefined> =>
    companyById(await shards.find(companyId), companyId);
  mountPageRoutes(app, checkoutPageRoutes(checkout), { http, companyOf, subjectOf: sessionByToken });
  mountPaymentLinks(app, { http, companyOf, subjectOf: linkByToken }, pageLinks);
  const contextOf = async (companyId: string, requestId: string): Promise<RequestContext | undefined> => {
    const company = await companyOf(companyId);
    if (!company) return undefined;
    const { db, clock } = shards.of(company);
    return { requestId, company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
  };
  mountLogos(app, { shardOf: shards.find, logoWith });
  mountReceipts(app, { ...receipts, limiter: http.limiter, fallbackFont: receiptFont, contextOf });
}
