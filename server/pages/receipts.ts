import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Company } from '../company.ts';
import { ApiError, tooManyRequests } from '../errors.ts';
import {
  readDocument,
  readDocumentLink,
  readMonth,
  readMonthLink,
  readXml,
  readXmlLink,
} from '../features/invoices/service.ts';
import {
  openRenderer,
  readReceipt,
  type ReceiptDocument,
  type ReceiptLinks,
  readReceiptLink,
} from '../features/receipts/service.ts';
import { limits } from '../limits.ts';
import { hourMs } from '../platform/durations.ts';
import { isUuid } from '../platform/ids.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import type { LinkQuery } from '../platform/signed-links.ts';
import { zipOf } from '../platform/zip.ts';
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
/** Ten times as long as the largest month takes. */
const downloadMs = hourMs;

const expired = (): ApiError =>
  new ApiError('invalid_request', 'This link has expired or is invalid. Ask the merchant for a new one.');

/** A kind of file that signed links open. */
interface LinkedFile<Link, Found> {
  readonly path: string;
  readonly name: 'receipt' | 'document';
  readonly extension: 'pdf' | 'xml' | 'zip';
  /** What the file is named by, which is an id if this is left out. */
  readonly isName?: (name: string) => boolean;
  readonly readLink: (
    linkKey: ReceiptLinks['linkKey'],
    nowMs: number,
    companyId: string,
    id: string,
    query: LinkQuery,
  ) => Link | undefined;
  readonly read: (context: RequestContext, id: string, link: Link) => Promise<Found | undefined>;
}

interface Printable {
  readonly document: ReceiptDocument;
  readonly fileName: string;
  /** Changes whenever the document would. */
  readonly version: string;
}

const receipts: LinkedFile<NonNullable<ReturnType<typeof readReceiptLink>>, Printable> = {
  path: '/receipts/:company/:file',
  name: 'receipt',
  extension: 'pdf',
  readLink: readReceiptLink,
  read: readReceipt,
};
const documents: LinkedFile<NonNullable<ReturnType<typeof readDocumentLink>>, Printable> = {
  path: '/documents/:company/:file',
  name: 'document',
  extension: 'pdf',
  readLink: readDocumentLink,
  read: readDocument,
};
const eInvoices: LinkedFile<true, { readonly xml: string; readonly fileName: string }> = {
  path: '/e-invoices/:company/:file',
  name: 'document',
  extension: 'xml',
  readLink: readXmlLink,
  read: readXml,
};

const months: LinkedFile<NonNullable<ReturnType<typeof readMonthLink>>, Awaited<ReturnType<typeof readMonth>>> = {
  path: '/invoice-months/:company/:file',
  name: 'document',
  extension: 'zip',
  isName: (name) => /^\d{4}-\d{2}$/.test(name),
  readLink: readMonthLink,
  read: readMonth,
};

const types = { pdf: 'application/pdf', xml: 'application/xml; charset=utf-8', zip: 'application/zip' } as const;

/** Makes the files of a process: PDFs in one thread, as often as companies may. */
function openPrinter({ clock, limiter, fallbackFont }: ReceiptPageDependencies) {
  const renderer = openRenderer(fallbackFont);
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

  async function printed({ document, version }: Printable, company: Pick<Company, 'id'>): Promise<Buffer> {
    const known = cached.get(version);
    if (known) return known;
    await checkRoom(company);
    const pdf = await renderer.render(document, company.id, (ms) => chargeFor(company.id, ms));
    const [oldest] = cached.keys();
    if (cached.size >= cachedMax && oldest !== undefined) cached.delete(oldest);
    cached.set(version, pdf);
    return pdf;
  }

  /** Each company downloads one month at a time, so that its PDFs do not take all turns of the thread. */
  const downloading = new Set<string>();
  function zipped({ files }: Awaited<ReturnType<typeof readMonth>>, { id }: Company): Readable {
    if (downloading.has(id)) {
      throw tooManyRequests('A month of invoices is being downloaded. Open the link again when it is complete.', 60);
    }
    const stream = Readable.from(zipOf(files((document) => renderer.render(document, id))));
    downloading.add(id);
    // A client that stops reading would keep the turn of its company forever.
    const late = setTimeout(() => stream.destroy(new Error('the download took too long')), downloadMs).unref();
    stream.once('close', () => {
      clearTimeout(late);
      downloading.delete(id);
    });
    return stream;
  }
  return { printed, zipped, stop: () => renderer.stop() };
}

/** Serves receipts, invoices and credit notes to anyone who has a signed link. */
export function mountReceipts(app: FastifyInstance, dependencies: ReceiptPageDependencies): void {
  const { linkKey, clock, contextOf } = dependencies;
  const printer = openPrinter(dependencies);
  app.addHook('onClose', () => printer.stop());

  const serve = <Link, Found extends { readonly fileName: string }>(
    kind: LinkedFile<Link, Found>,
    contentOf: (found: Found, company: Company) => string | Promise<Buffer> | Readable,
  ): void => {
    app.get<{ Params: { company: string; file: string }; Querystring: LinkQuery }>(
      kind.path,
      async (request, reply) => {
        const { company, file } = request.params;
        const id = file.replace(new RegExp(`\\.${kind.extension}$`), '');
        const isPath = isUuid(company) && (kind.isName ?? isUuid)(id);
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
        const found = context && (await kind.read(context, id, link));
        if (!found) throw new ApiError('resource_not_found', `This ${kind.name} does not exist.`);
        // A program that only asks whether a ZIP file is there would have all of it made.
        const isAsked = request.method === 'HEAD' && kind.extension === 'zip';
        const content = isAsked ? '' : await contentOf(found, context.company);
        return (
          reply
            .header('Content-Type', types[kind.extension])
            .header(
              'Content-Disposition',
              `${kind.extension === 'pdf' ? 'inline' : 'attachment'}; filename="${found.fileName}"`,
            )
            .header('Cache-Control', 'private, no-store')
            .header('Referrer-Policy', 'no-referrer')
            .header('X-Robots-Tag', 'noindex')
            // No more than that: a sandbox keeps browsers from showing a PDF.
            .header('Content-Security-Policy', "frame-ancestors 'none'")
            .send(content)
        );
      },
    );
  };
  serve(receipts, printer.printed);
  serve(documents, printer.printed);
  serve(eInvoices, ({ xml }) => xml);
  serve(months, printer.zipped);
}
