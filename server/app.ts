import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Company } from './company.ts';
import type { Config } from './config.ts';
import { emailsOf, mountCustomerPages, openCustomerPages } from './customer-pages.ts';
import { deliveryOf } from './email-delivery.ts';
import { type GaugeSources, shardsToShow } from './observation/gauges.ts';
import { documentedEvents, event, exampleObjectOf } from './event-schemas.ts';
import { agentApprovalRoutes } from './features/agent-approvals/dashboard-routes.ts';
import { apiKeyRoutes, type KeyDependencies } from './features/api-keys/routes.ts';
import { openApiKeyDirectory } from './features/api-keys/service.ts';
import { auditRoutes } from './features/audit/routes.ts';
import { openAuditLog } from './features/audit/service.ts';
import { checkoutDashboardRoutes } from './features/checkout-sessions/dashboard-routes.ts';
import { checkoutSessionRoutes } from './features/checkout-sessions/routes.ts';
import type { CheckoutPageDependencies, LinkDependencies } from './features/checkout-sessions/service.ts';
import { bulkRefundRoutes } from './features/bulk-refunds/dashboard-routes.ts';
import { planGroupRoutes } from './features/plan-groups/dashboard-routes.ts';
import { priceChangeRoutes } from './features/price-changes/dashboard-routes.ts';
import { type RehearsalDependencies, rehearsalRoutes } from './features/rehearsals/dashboard-routes.ts';
import { sampleDataRoutes } from './features/sample-data/dashboard-routes.ts';
import { exportRoutes } from './features/exports/dashboard-routes.ts';
import { cardWarningRoutes } from './features/card-warnings/routes.ts';
import type { Connections } from './features/processors/connections.ts';
import { chargebackRoutes } from './features/disputes/chargeback-routes.ts';
import { type DisputeDependencies, disputeRoutes } from './features/disputes/routes.ts';
import { goingLiveRoutes } from './features/going-live/routes.ts';
import { type ProcessorDependencies, processorRoutes } from './features/processors/routes.ts';
import { companyRoutes, type SettingsDependencies } from './features/companies/routes.ts';
import { couponRoutes } from './features/coupons/routes.ts';
import { customerSessionRoutes } from './features/customer-sessions/routes.ts';
import { customerEmailRoutes } from './features/customer-emails/dashboard-routes.ts';
import { declarationRoutes } from './features/declarations/dashboard-routes.ts';
import { creditDashboardRoutes } from './features/credit/dashboard-routes.ts';
import { creditRoutes } from './features/credit/routes.ts';
import { customerRoutes } from './features/customers/routes.ts';
import { paymentMethodDashboardRoutes } from './features/payment-methods/dashboard-routes.ts';
import { paymentMethodRoutes } from './features/payment-methods/routes.ts';
import { type CardDependencies, paymentMethodsOf, releaseCards } from './features/payment-methods/service.ts';
import { failedOrderRoutes } from './features/failed-orders/dashboard-routes.ts';
import type { FailedOrderDependencies } from './features/failed-orders/service.ts';
import { sandboxDashboardRoutes } from './features/sandbox/dashboard-routes.ts';
import { orderDashboardRoutes } from './features/orders/dashboard-routes.ts';
import { orderRoutes } from './features/orders/routes.ts';
import { type Orders, ordersById } from './features/orders/service.ts';
import { figureRoutes } from './features/figures/routes.ts';
import { noteRoutes } from './features/notes/routes.ts';
import { savedViewRoutes } from './features/saved-views/routes.ts';
import { overviewRoutes } from './features/overview/routes.ts';
import { paymentLinkDashboardRoutes } from './features/payment-links/dashboard-routes.ts';
import { paymentLinkRoutes } from './features/payment-links/routes.ts';
import { planDashboardRoutes } from './features/plans/dashboard-routes.ts';
import { planRoutes } from './features/plans/routes.ts';
import { profileRoutes } from './features/profile/routes.ts';
import { productRoutes } from './features/products/routes.ts';
import type { ImageLinks } from './features/products/service.ts';
import { invoiceRoutes, invoiceSettingRoutes } from './features/invoices/routes.ts';
import { receiptRoutes } from './features/receipts/routes.ts';
import type { ReceiptLinks } from './features/receipts/service.ts';
import { eventDashboardRoutes } from './features/events/dashboard-routes.ts';
import { requestRoutes } from './features/requests/routes.ts';
import { eventRoutes } from './features/events/routes.ts';
import { subscriptionDashboardRoutes } from './features/subscriptions/dashboard-routes.ts';
import { subscriptionRoutes } from './features/subscriptions/routes.ts';
import { type ClockDependencies, sandboxRoutes } from './features/sandbox/routes.ts';
import { teamDashboardRoutes } from './features/team/dashboard-routes.ts';
import { teamRoutes } from './features/team/routes.ts';
import type { TeamDependencies } from './features/team/service.ts';
import { transactionRoutes } from './features/transactions/routes.ts';
import { userSteps } from './features/users/caller.ts';
import { userRoutes } from './features/users/routes.ts';
import { memberDirectory, type UserDependencies } from './features/users/service.ts';
import type { WebhookDependencies } from './features/webhooks/service.ts';
import { webhookDashboardRoutes } from './features/webhooks/dashboard-routes.ts';
import { webhookRoutes } from './features/webhooks/routes.ts';
import { mountAgents } from './pages/agents.ts';
import { type Brand, mountBrand, readBrand } from './pages/brand.ts';
import { mountCardFields } from './pages/card-fields.ts';
import { mountFiles } from './pages/files.ts';
import { mountHostedPages } from './pages/hosted-pages.ts';
import { mountGuides } from './pages/guides.ts';
import { mountNotices } from './pages/notices.ts';
import { missingPage } from './pages/missing.ts';
import { mountSdk } from './pages/sdk.ts';
import { mountSecurityTxt } from './pages/security-txt.ts';
import type { ApiKeyDirectory } from './http/authenticate.ts';
import { countRoutes } from './http/count-routes.ts';
import { createEarlyRefusal } from './http/early-refusal.ts';
import { mountOperations, type ReadinessCheck } from './http/operations.ts';
import type { KnownDemo } from './demo.ts';
import { mountRoutes } from './http/mount.ts';
import { pageLimitsOf, rateLimitsOf } from './http/rate-limits.ts';
import { mountReference } from './pages/reference.ts';
import type { Route } from './http/route.ts';
import { buildServer } from './http/server.ts';
import { sessionCookie } from './http/session-cookie.ts';
import { prepareUploadDirectory } from './http/uploads.ts';
import type { Background } from './platform/background.ts';
import type { Clock } from './platform/clock.ts';
import type { ClockWatch } from './platform/clock-watch.ts';
import { reconciliationRoutes } from './features/reconciliation/routes.ts';
import type { RestoreWatch } from './features/restores/service.ts';
import type { ControlQueryable } from './platform/database.ts';
import { createDiskStore } from './platform/files/disk-store.ts';
import type { Logger } from './platform/log.ts';
import type { Components } from './platform/components.ts';
import type { RateLimiter } from './platform/rate-limiter/rate-limiter.ts';
import type { ServiceKeys } from './platform/service-keys.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';
import { startObservation } from './observation/observation.ts';
import type { References } from './references.ts';
import type { OfCompany } from './request-context.ts';
import type { AppShards } from './shard.ts';
import { mountTeamPages } from './team-pages.ts';
import { hasLeft } from './shards/queries.ts';
import { fileStore } from './start/file-store.ts';
import type { Vault } from './vault/vault.ts';

export interface AppDependencies {
  readonly config: Config;
  readonly baseUrl: string;
  readonly shards: AppShards;
  /** The time of the control plane. */
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly restores: Pick<RestoreWatch, 'isRestored' | 'waiting'>;
  readonly log: Logger;
  readonly background: Background;
  readonly keys: ServiceKeys;
  readonly limiter: RateLimiter;
  readonly telemetry: Telemetry;
  readonly vault: Vault;
  readonly connections: Connections;
  readonly webhooks: WebhookDependencies;
  readonly references: References;
  readonly readiness: () => readonly ReadinessCheck[];
  readonly components: Components;
  readonly gauges: GaugeSources;
  readonly demo?: KnownDemo;
}

function cardDependencies({ vault, clock, keys, connections }: AppDependencies): CardDependencies {
  const { verifierOf, noteVerification } = connections;
  return { vault, clock, tokenHashKey: keys['card-tokens'], verifierOf, noteVerification };
}

function processorDependencies(
  { vault, connections, baseUrl, config }: AppDependencies,
  forgetAccess: (companyId: string) => void,
): ProcessorDependencies {
  return { vault, connections, baseUrl, acquirers: config.SVC_ACQUIRERS, forgetAccess };
}

/** Without a mail server and a mailbox, no emails are written. */
function failedOrderDependencies(dependencies: AppDependencies, pageLinks: LinkDependencies): FailedOrderDependencies {
  const emails = deliveryOf(dependencies.config) === 'stored' ? undefined : emailsOf(dependencies);
  return { pageLinks, emails };
}

/** Builds the whole API on a Fastify instance that does not listen yet. */
export async function buildApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const { config, shards, clock, log, webhooks, keys, limiter, telemetry, references, vault } = dependencies;
  const brand = readBrand(config);
  const { 'file-urls': signingKey, 'api-keys': pepper, mails: mailKey } = keys;
  const disk = createDiskStore({ root: join(config.dataDir, 'files'), baseUrl: dependencies.baseUrl, signingKey });
  const links = { files: fileStore(config) ?? disk, clock };
  const cards = cardDependencies(dependencies);
  const parts = partsOf(shards);
  const directory = await openApiKeyDirectory(shards, pepper, clock);
  const forgetAccess = (companyId: string): void => directory.forget(companyId);
  const team = { baseUrl: dependencies.baseUrl, brandName: brand.name, invitationKey: keys.invitations, mailKey };
  const pages = openCustomerPages(dependencies, cards, links);
  const routes = apiRoutes(references, links, cards, { ...parts, webhooks, team, forgetAccess, ...pages });
  const rateLimits = rateLimitsOf(config);
  const ofDashboard = dashboardRoutes({
    orders: parts.orders,
    team,
    clock,
    settings: { rateLimits, forgetAccess },
    processors: processorDependencies(dependencies, forgetAccess),
    disputes: { vault, orders: parts.orders },
    keys: { control: shards.control, clock, pepper, forgetAccess },
    webhooks,
    ...pages,
    failedOrders: failedOrderDependencies(dependencies, pages.pageLinks),
    control: shards.control,
    rehearsals: { shards },
    lists: () => all,
  });
  const all = [...routes, ...ofDashboard];
  const users = userDependencies(dependencies, team);
  const cookie = sessionCookie(dependencies.baseUrl);
  const uploadDirectory = join(config.dataDir, 'uploads');
  await prepareUploadDirectory(uploadDirectory, clock.nowMs());

  const { admissions, metrics, onRefused, recorder, cardWatch } = startObservation(dependencies);
  telemetry.exportMetrics(metrics);
  const http = {
    shardFor: shards.of,
    hasLeft: async (company: Company) => areSeveral(shards) && hasLeft(shards.of(company).db, company.id),
    shardOf: async (companyId: string) => (await shards.find(companyId)).name,
    clock,
    admissions,
    earlyRefusal: createEarlyRefusal(admissions, onRefused, dependencies.baseUrl),
    identities: { directory, members: memberDirectory(users), cookie },
    audit: openAuditLog(shards, log),
    limiter,
    rateLimits,
    pageLimits: pageLimitsOf(config),
    refusedCards: config.SVC_RATE_LIMIT_REFUSED_CARDS,
    idempotencyHashKey: keys.idempotency,
    answerKey: keys['kept-answers'],
    baseUrl: dependencies.baseUrl,
    uploadDirectory,
  };
  const app = await buildServer([...all, ...countRoutes(all)], http, {
    log,
    onRefused,
    tracing: telemetry,
    baseUrl: dependencies.baseUrl,
    missingPage: missingPage(brand),
    trustProxy: config.SVC_TRUST_PROXY,
    recorder,
    cardWatch,
  });
  app.addHook('onClose', async () => {
    await Promise.all([http.audit.flush(), dependencies.background.flush(), cardWatch.flush(), recorder?.stop()]);
  });
  const { readiness: checks, components, clocks, restores, gauges } = dependencies;
  mountOperations(app, { checks, components, metrics, clocks, restores, ...shardsToShow(gauges) });
  mountFiles(app, disk, signingKey, clock);
  await mountStaticPages(app, dependencies, { brand, routes, imageOrigin: links.files.origin }, directory);
  await mountNotices(app, { shards, vault, log }, http);
  mountCustomerPages(app, { http, shards, vault, ...pages, receiptFont: config.SVC_RECEIPT_FONT });
  mountRoutes(app, http, userRoutes(users), userSteps(users, http));
  mountTeamPages(app, dependencies, brand, cookie);
  return app;
}

/** The pages that are the same for everyone, and the tools for agents. */
async function mountStaticPages(
  app: FastifyInstance,
  { config, shards, baseUrl, clock }: AppDependencies,
  { brand, routes, imageOrigin }: { brand: Brand; routes: readonly Route[]; imageOrigin: string },
  directory: ApiKeyDirectory,
): Promise<void> {
  mountBrand(app, brand);
  mountGuides(app, brand, baseUrl, mountReference(app, { routes, events: documentedEvents, baseUrl }, brand));
  mountSdk(app, baseUrl);
  mountAgents(app, { config, shards, baseUrl, clock, directory });
  mountSecurityTxt(app, config.SVC_SECURITY_CONTACT, baseUrl, clock);
  await mountCardFields(app);
  mountHostedPages(app, { imageOrigin });
}

/** What requests use of the shard of their company. */
function partsOf(shards: AppShards): Pick<ClockDependencies, 'orders' | 'subscriptions' | 'shardFor'> {
  return {
    orders: ({ company }) => shards.of(company).orders,
    subscriptions: ({ company }) => shards.of(company).subscriptions,
    shardFor: ({ company }) => shards.of(company),
  };
}

function userDependencies(
  { config, shards, clock, background, log, keys, demo }: AppDependencies,
  team: TeamDependencies,
): UserDependencies {
  return {
    db: shards.control,
    shards,
    clock,
    team,
    background,
    log,
    sessionKey: keys.sessions,
    attemptsKey: keys['login-attempts'],
    totpKey: keys.totp,
    recoveryKey: keys['account-recovery'],
    signUpOpen: config.SVC_SIGN_UP !== 'off',
    oneTimeSignIn: demo?.signIn,
  };
}

const areSeveral = ({ all, away }: AppShards): boolean => all.length + away.size > 1;

interface RouteDependencies extends Pick<AppDependencies, 'webhooks'>, ClockDependencies {
  readonly team: TeamDependencies;
  readonly pageLinks: LinkDependencies;
  readonly checkout: OfCompany<CheckoutPageDependencies>;
  readonly receipts: ReceiptLinks;
}

export function apiRoutes(
  references: References,
  links: ImageLinks,
  cards: CardDependencies,
  dependencies: RouteDependencies,
): Route[] {
  const { orders, subscriptions, webhooks, team, pageLinks, receipts } = dependencies;
  const customerReferences = { ...references, releaseCards, paymentMethodsOf };
  return [
    ...customerRoutes(customerReferences),
    ...creditRoutes(),
    ...paymentMethodRoutes(cards, references),
    ...productRoutes(references, links),
    ...orderRoutes(orders),
    ...planRoutes(),
    ...couponRoutes(),
    ...subscriptionRoutes(subscriptions),
    ...checkoutSessionRoutes(pageLinks),
    ...paymentLinkRoutes(pageLinks),
    ...receiptRoutes(receipts),
    ...invoiceRoutes(receipts),
    ...customerSessionRoutes(pageLinks),
    ...transactionRoutes(ordersById),
    ...sandboxRoutes({ ...dependencies, cards, references: customerReferences }),
    ...eventRoutes(event),
    ...requestRoutes(),
    ...webhookRoutes(webhooks, exampleObjectOf),
    ...teamRoutes(team),
  ];
}

interface DashboardDependencies {
  readonly control: ControlQueryable;
  readonly orders: OfCompany<Orders>;
  readonly team: TeamDependencies;
  readonly clock: Clock;
  readonly settings: SettingsDependencies;
  readonly processors: ProcessorDependencies;
  readonly disputes: DisputeDependencies;
  readonly keys: KeyDependencies;
  readonly receipts: ReceiptLinks;
  readonly checkout: OfCompany<CheckoutPageDependencies>;
  readonly webhooks: WebhookDependencies;
  readonly failedOrders: FailedOrderDependencies;
  readonly rehearsals: RehearsalDependencies;
  /** The lists that can be exported. */
  readonly lists: () => readonly Route[];
}

/** The routes that only the dashboard has, for signed-in team members. */
export function dashboardRoutes(dependencies: DashboardDependencies): Route[] {
  const {
    control,
    orders,
    team,
    clock,
    settings,
    processors,
    disputes,
    keys,
    webhooks,
    receipts,
    checkout,
    failedOrders,
    rehearsals,
    lists,
  } = dependencies;
  return [
    ...figureRoutes(() => processors.connections.health.broken()),
    ...overviewRoutes(clock),
    ...noteRoutes(),
    ...savedViewRoutes(),
    ...eventDashboardRoutes(),
    ...orderDashboardRoutes(orders),
    ...failedOrderRoutes(failedOrders),
    ...bulkRefundRoutes(),
    ...priceChangeRoutes(),
    ...exportRoutes(lists),
    ...paymentLinkDashboardRoutes(control),
    ...checkoutDashboardRoutes(checkout),
    ...subscriptionDashboardRoutes(),
    ...webhookDashboardRoutes(),
    ...planDashboardRoutes(),
    ...planGroupRoutes(),
    ...companyRoutes(settings),
    ...paymentMethodDashboardRoutes(),
    ...sampleDataRoutes(),
    ...rehearsalRoutes(rehearsals),
    ...sandboxDashboardRoutes(),
    ...profileRoutes(settings),
    ...invoiceSettingRoutes(),
    ...customerEmailRoutes(receipts),
    ...declarationRoutes(),
    ...processorRoutes(processors),
    ...disputeRoutes(disputes),
    ...chargebackRoutes(disputes),
    ...goingLiveRoutes({ control, webhooks }),
    ...cardWarningRoutes(),
    ...reconciliationRoutes(),
    ...agentApprovalRoutes(clock),
    ...apiKeyRoutes(keys),
    ...teamDashboardRoutes(team),
    ...auditRoutes(),
    ...creditDashboardRoutes(),
  ];
}
