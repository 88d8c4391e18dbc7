import { wordsToCustomer } from '../../customer-texts/words.ts';
import { tooManyRequests } from '../../errors.ts';
import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import type { Background } from '../../platform/background.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { merchantOf } from '../checkout-sessions/service.ts';
import { findCustomerByEmail } from '../customers/service.ts';
import { writeLinkMail } from '../mails/service.ts';
import { linkRequest } from './page-schemas.ts';
import { customerPageLink } from './service.ts';

/** The page of a company on which its customers ask for a link by email. It never says whether an address is known. */

export interface EmailLinkDependencies {
  readonly baseUrl: string;
  readonly mailKey: ServiceKey;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  readonly background: Background;
  readonly log: Logger;
}

/** A page without a subject of its own: the address names the company. */
export type CompanyPage = Record<string, never>;

const minutes = limits.customerSessionSeconds / 60;

const merchantRoute = (path: `/customer/:token/${string}`): PageRoute<CompanyPage> =>
  definePageRoute({
    method: 'GET',
    path,
    category: 'read',
    handle: async ({ context }) => ({
      livemode: context.company.mode === 'live',
      rehearsal: context.company.mode === 'rehearsal',
      merchant: await merchantOf(context),
    }),
  });

/** Whose page a link led to that does not work any more. */
export const endedPageRoutes = (): PageRoute<CompanyPage>[] => [merchantRoute('/customer/:token/ended')];

export function companyPageRoutes(dependencies: EmailLinkDependencies): PageRoute<CompanyPage>[] {
  return [
    merchantRoute('/customer/:token/company'),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/links',
      category: 'write',
      body: linkRequest,
      handle: ({ context, body, address }) => requestLink(dependencies, context, body.email, address),
    }),
  ];
}

/**
 * The same answer in the same time, whether the customer exists or not: everything that depends on it happens after
 * the answer.
 */
async function requestLink(
  dependencies: EmailLinkDependencies,
  context: RequestContext,
  email: string,
  address: string,
): Promise<{ readonly minutes: number }> {
  const { limiter, clock, background, log } = dependencies;
  const key = `{${context.company.id}}:customer_links:${addressBucket(address)}`;
  const [decision] = await limiter.consume([{ key, limit: limits.linkMailsPerAddress }], clock.nowMs());
  if (decision && !decision.allowed) {
    const message = 'Too many links were requested from your network. Try again later.';
    throw tooManyRequests(message, decision.retryAfterSeconds);
  }
  background.run(mailLink(dependencies, context, email), (error) =>
    log.error({ err: error, company_id: context.company.id }, 'failed to create an email with a customer page link'),
  );
  return { minutes };
}

async function mailLink(
  { baseUrl, mailKey, limiter, clock }: EmailLinkDependencies,
  context: RequestContext,
  email: string,
): Promise<void> {
  const { company, db, nowMs } = context;
  const customer = await findCustomerByEmail(context, email);
  if (!customer) return;
  const key = `{${company.id}}:customer_links`;
  const decisions = await limiter.consume(
    [
      { key: `${key}:customer ${customer.id}`, limit: limits.linkMailsPerCustomer },
      { key: `${key}:company`, limit: limits.linkMailsPerCompany },
    ],
    clock.nowMs(),
  );
  if (decisions.some(({ allowed }) => !allowed)) return;
  const { name: merchant } = await merchantOf(context);
  const words = await wordsToCustomer(customer, company);
  const { pageLink } = words.texts.emails;
  await db.transaction(async (transaction) => {
    const inside = { ...context, db: transaction };
    const { id: customerId, email: recipient } = customer;
    const made = await customerPageLink(inside, { baseUrl }, { customerId, email: recipient });
    if (!made) return;
    const { url, expiresAt } = made;
    await writeLinkMail(transaction, mailKey, company.id, nowMs, {
      recipient,
      subject: words.fill(pageLink.subject, { merchant }),
      link: { url, for: customerId, expiresAt },
      toCustomer: true,
      // No name of the customer: a stranger may have typed it on a checkout page, and would choose a text that we send.
      body: (link) => [words.fill(pageLink.text, { minutes, merchant }), '', link, '', pageLink.care, ''].join('\n'),
    });
  });
}
