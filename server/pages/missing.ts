import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Brand } from './brand.ts';
import { brandLink, docsFrame, docsPolicy, htmlType } from './docs/layout.ts';

/** What a browser shows at an address that does not exist. */

/** The customers of a merchant follow links to these. They have no use for the dashboard or the docs. */
const forCustomers = /^\/(checkout|customer|confirm|pay|receipts|emails)(\/|$)/;

const links =
  '<nav class="sites" aria-label="Sites"><a href="/">Dashboard</a><a href="/docs">Guides</a><a href="/docs/api/">API reference</a></nav>';

export function missingPage({ name }: Brand): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return ({ url, id }, reply) => {
    const isForCustomers = forCustomers.test(url);
    const text = isForCustomers
      ? 'The link is incomplete or no longer valid. Check it, or ask the sender for a new one.'
      : 'Check the address, or start from one of the pages above.';
    const page = docsFrame({
      brandName: name,
      title: 'Page not found',
      bodyClass: 'missing',
      links: isForCustomers ? '' : brandLink(name, '/') + links,
      body: `<main id="content" tabindex="-1"><p class="status">404</p><h1>Page not found</h1><p>${text}</p><p class="facts">Request <code>${id}</code></p></main>`,
    });
    return reply
      .header('Content-Type', htmlType)
      .header('Content-Security-Policy', docsPolicy)
      .header('Referrer-Policy', 'no-referrer')
      .send(page);
  };
}
