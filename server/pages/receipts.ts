import type { FastifyInstance } from 'fastify';
import type { Company } from '../company.ts';
import { ApiError, tooManyRequests } from '../errors.ts';
import {
  openRenderer,
  readReceipt,
  type ReceiptLink,
  type ReceiptLinks,
  readReceiptLink,
} from '../features/receipts/service.ts';
import { limits } from '../limits.ts';
import { isUuid } from '../platform/ids.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import type { LinkQuery } from '../platform/signed-links.ts';
import type { RequestContext } from '../request-context.ts';
import { sendClosedPage, wantsPage } from './closed-page.ts';

interface ReceiptPageDependencies extends ReceiptLinks {
  readonly limiter: RateLimiter;
  readonly fallbackFont: string | undefined;
  /** Undefined if there is no such company. */
  readonly contextOf: (companyId: string, requestId: string) => Promise<RequestContext | undefined>;
}

/** People open a receipt several times in a row: to look, to save, to print. */
const cachedMax = 100;
/** A receipt that takes more processor time counts as several: 100 items in rare Chinese characters take seconds. */
const usualMs = 250;

const expired = (): ApiError =>
  new ApiError('invalid_request', 'This link has expired or is invalid. Ask the merchant for a new one.');

/** Serves receipts as PDF to anyone who has a signed link. */
export function mountReceipts(app: FastifyInstance, dependencies: ReceiptPageDependencies): void {
  const { linkKey, clock, limiter, fallbackFont, contextOf } = dependencies;
  const renderer = openRenderer(fallbackFont);
  app.addHook('onClose', () => renderer.stop());
  const cached = new Map<string, Buffer>();

  const roomOf = (companyId: string) => [{ key: `{${companyId}}:receipts`, limit: limits.receiptRenders }];

  function chargeFor(companyId: string, spentMs: number): void {
    const more = Math.floor(spentMs / usualMs);
    // Its failure is not the reader's, and the next receipt notices it.
    if (more > 0) void Promise.resolve(limiter.charge(roomOf(companyId), more, clock.nowMs())).catch(() => undefined);
  }

  async function checkRoom({ id }: Pick<Company, 'id'>): Promise<void> {
    const [decision] = await limiter.consume(roomOf(id), clock.nowMs());
    if (!decision || decision.allowed) return;
    const message = 'Too many receipts were opened. Open the link again in a minute.';
    throw tooManyRequests(message, decision.retryAfterSeconds);
  }

  app.get<{ Params: { company: string; file: string }; Querystring: LinkQuery }>(
    '/receipts/:company/:file',
    async (request, reply) => {
      const { company, file } = request.params;
      const id = file.replace(/\.pdf$/, '');
      const isPath = isUuid(company) && isUuid(id);
      const linkAt = (nowMs: number): ReceiptLink | undefined =>
        isPath ? readReceiptLink(linkKey, nowMs, company, id, request.query) : undefined;
      const link = linkAt(clock.nowMs());
      if (!link) {
        if (!wantsPage(request)) throw expired();
        // A link that was valid once names its merchant. One that never was says nothing.
        const context = linkAt(0) ? await contextOf(company, request.id) : undefined;
        return sendClosedPage(reply, {
          ...(context ? { reason: 'receipt', context } : { reason: 'unknown' }),
          root: '../..',
        });
      }
      const context = await contextOf(company, request.id);
      const receipt = context && (await readReceipt(context, id, link));
      if (!receipt) throw new ApiError('resource_not_found', 'This receipt does not exist.');
      let pdf = cached.get(receipt.version);
      if (!pdf) {
        await checkRoom(context.company);
        pdf = await renderer.render(receipt.document, company, (ms) => chargeFor(company, ms));
        const [oldest] = cached.keys();
        if (cached.size >= cachedMax && oldest !== undefined) cached.delete(oldest);
        cached.set(receipt.version, pdf);
      }
      return (
        reply
          .header('Content-Type', 'application/pdf')
          .header('Content-Disposition', `inline; filename="${receipt.fileName}"`)
          .header('Cache-Control', 'private, no-store')
          .header('Referrer-Policy', 'no-referrer')
          .header('X-Robots-Tag', 'noindex')
          // No more than that: a sandbox keeps browsers from showing a PDF.
          .header('Content-Security-Policy', "frame-ancestors 'none'")
          .send(pdf)
      );
    },
  );
}
