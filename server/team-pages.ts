import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import type { KnownDemo } from './demo.ts';
import { deliveryOf } from './email-delivery.ts';
import { documentPath } from './features/invoices/service.ts';
import { latestMails } from './features/mails/service.ts';
import type { SessionCookie } from './http/session-cookie.ts';
import type { Brand } from './pages/brand.ts';
import { mountDashboard } from './pages/dashboard.ts';
import { landingPage } from './pages/landing.ts';
import { mountMailbox } from './pages/mailbox.ts';
import type { ShownMail } from './pages/mailbox-page.ts';
import type { Clock } from './platform/clock.ts';
import type { ServiceKeys } from './platform/service-keys.ts';
import type { AppShards } from './shard.ts';

/** Connects the pages of merchants and their teams: the front page, the dashboard, and the mailbox that it links to. */

interface Surroundings {
  readonly config: Config;
  readonly baseUrl: string;
  readonly shards: AppShards;
  readonly keys: ServiceKeys;
  readonly clock: Clock;
  readonly demo?: KnownDemo;
}

export function mountTeamPages(
  app: FastifyInstance,
  { config, baseUrl, shards, keys, clock, demo }: Surroundings,
  brand: Brand,
  cookie: SessionCookie,
): void {
  const links = { linkKey: keys['customer-links'], clock };
  const mails = async (count: number): Promise<ShownMail[]> =>
    (await latestMails(shards, keys.mails, count)).map(({ document, ...mail }) => ({
      ...mail,
      attachment: document && {
        name: `${document.number}.pdf`,
        url: documentPath(links, document.companyId, document.id),
      },
    }));
  const delivery = deliveryOf(config);
  mountMailbox(app, baseUrl, brand, delivery === 'mailbox' ? mails : undefined);
  const demoCheckout = (): string | undefined => demo?.checkoutUrl || undefined;
  mountDashboard(app, brand, delivery, {
    hasSession: (request) => cookie.read(request) !== undefined,
    showVisitor: landingPage({ brand, signUpOpen: config.SVC_SIGN_UP !== 'off', demoCheckout }),
  });
}
