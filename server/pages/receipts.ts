import type { FastifyInstance } from 'fastify';
import type { Company } from '../company.ts';
import { ApiError, tooManyRequests } from '../errors.ts';
import { readDocument, readDocumentLink } from '../features/invoices/service.ts';
import {
  openRenderer,
  readReceipt,
  type ReceiptDocument,
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

/** A kind of document that signed links open. */
interface LinkedDocument<Link> {
  readonly path: string;
  readonly name: 'receipt' | 'document';
  readonly readLink: (
    linkKey: ReceiptLinks['linkKey'],
    nowMs: number,
    companyId: string,
    id: string,
    query: LinkQuery,
  ) => Link | undefined;
  readonly read: (
    context: RequestContext,
    id: string,
    link: Link,
  ) => Promise<{ document: ReceiptDocument; fileName: string; version: string } | undefined>;
}

const receipts: LinkedDocument<NonNullable<ReturnType<typeof readReceiptLink>>> = {
  path: '/receipts/:company/:file',
  name: 'receipt',
  readLink: readReceiptLink,
  read: readReceipt,
};
const documents: LinkedDocument<NonNullable<ReturnType<typeof readDocumentLink>>> = {
  path: '/documents/:company/:file',
  name: 'document',
  readLink: readDocumentLink,
  read: readDocument,
};

/** Serves receipts, invoices and credit notes as PDF to anyone who has a signed link. */
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

  const serve = <Link>(kind: LinkedDocument<Link>): void => {
    app.get<{ Params: { company: string; file: string }; Querystring: LinkQuery }>(
      kind.path,
      async (request, reply) => {
        const { company, file } = request.params;
        const id = file.replace(/\.pdf$/, '');
        const isPath = isUuid(company) && isUuid(id);
        const linkAt = (nowMs: number): Link | undefined =>
          isPath ? kind.readLink(linkKey, nowMs, company, id, request.query) : undefined;
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
        const receipt = context && (await kind.read(context, id, link));
        if (!receipt) throw new ApiError('resource_not_found', `This ${kind.name} does not exist.`);
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
  };
  serve(receipts);
  serve(documents);
}
