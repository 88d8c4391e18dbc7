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
import type { HttpDependencies } from './http/mount.ts';
import { mountPageRoutes } from './http/page-routes.ts';
import { mountPaymentLinks } from './pages/payment-links.ts';
import type { OfCompany } from './request-context.ts';
import type { AppShards } from './shard.ts';

/** Connects the pages that the customers of a merchant open: checkout and payment links. */

type OfShard = 'db' | 'orders' | 'subscriptions' | 'receiptUrlOf';

/** What the checkout page uses of the shard of its company. */
export function checkoutOf({
  shards,
  ...shared
}: { readonly shards: AppShards } & Omit<CheckoutPageDependencies, OfShard>): OfCompany<CheckoutPageDependencies> {
  return ({ company }) => {
    const { db, orders, subscriptions } = shards.of(company);
    return { ...shared, db, orders, subscriptions, receiptUrlOf: async () => null };
  };
}

interface PagesDependencies {
  readonly http: HttpDependencies;
  readonly shards: AppShards;
  readonly pageLinks: LinkDependencies;
  readonly checkout: OfCompany<CheckoutPageDependencies>;
}

export function mountCustomerPages(
  app: FastifyInstance,
  { http, shards, pageLinks, checkout }: PagesDependencies,
): void {
  /** Finds the company that the token of a page names. */
  const companyOf = async (companyId: string): Promise<Company | undefined> =>
    companyById(await shards.find(companyId), companyId);
  mountPageRoutes(app, checkoutPageRoutes(checkout), { http, companyOf, subjectOf: sessionByToken });
  mountPaymentLinks(app, { http, companyOf, subjectOf: linkByToken }, pageLinks);
}
