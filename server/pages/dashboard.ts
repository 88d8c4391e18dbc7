import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EmailDelivery } from '../email-delivery.ts';
import { ApiError } from '../errors.ts';
import { escaped } from '../platform/html.ts';
import { acceptedEncoding } from '../http/compression.ts';
import { compressible } from './assets.ts';
import type { Brand } from './brand.ts';
import { builtFile, notBuilt } from './built.ts';

/** The dashboard: one document for all its pages, with its scripts and styles. */

/** The first path segments that the dashboard's router handles: pages without a session, and with one. */
const openPages = ['login', 'sign-up', 'forgot-password', 'reset-password', 'invitations'] as const;
const dashboardPages = [
  ...openPages,
  'account',
  'home',
  'customers',
  'products',
  'plans',
  'orders',
  'transactions',
  'invoices',
  'subscriptions',
  'coupons',
  'payment-links',
  'disputes',
  'in-doubt',
  'approvals',
  'declarations',
  'emails',
  'developers',
  'team',
  'roles',
  'audit-log',
  'settings',
  'sandbox',
] as const;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; connect-src 'self'; " +
  "font-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** At the address of the service: people who have signed in get the dashboard, others a page that says what this is. */
interface Front {
  readonly hasSession: (request: FastifyRequest) => boolean;
  readonly showVisitor: (reply: FastifyReply) => FastifyReply;
}

export function mountDashboard(app: FastifyInstance, brand: Brand, emails: EmailDelivery, front: Front): void {
  const file = builtFile('index.html');
  const written: Readonly<Record<string, string>> = { brand: escaped(brand.name), emails };
  const document =
    file && readFileSync(file, 'utf8').replaceAll(/{{(\w+)}}/g, (whole, name: string) => written[name] ?? whole);
  // Pages that read no session would load it for nothing.
  const withoutSession = document?.replace(/<link[^>]* href="\/dashboard\/session"[^>]*>/, '');
  const isOpen = ({ url }: FastifyRequest): boolean => openPages.some((page) => url.startsWith(`/${page}`));
  const show = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    // A program that mistook /orders for /v1/orders gets an error; only browsers get a page.
    const isPage = request.url === '/' || request.headers.accept?.includes('text/html');
    if (!isPage) throw nothingHere();
    if (!document) throw notBuilt();
    return reply
      .header('Content-Type', 'text/html; charset=utf-8')
      .header('Content-Security-Policy', policy)
      .header('Referrer-Policy', 'same-origin')
      .header('Cross-Origin-Opener-Policy', 'same-origin')
      .header('Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=(), usb=()')
      .header('Cache-Control', 'no-cache')
      .send(isOpen(request) ? withoutSession : document);
  };
  app.get('/', (request, reply) => {
    reply.header('Vary', 'Cookie');
    return front.hasSession(request) ? show(request, reply) : front.showVisitor(reply);
  });
  for (const page of dashboardPages) {
    app.get(`/${page}`, show);
    app.get(`/${page}/*`, show);
  }
  if (!file) return;
  const built = dirname(file);
  const names = readdirSync(join(built, 'assets')).filter((name) => !name.endsWith('.br'));
  const assets = new Map(names.map((name) => [name, compressedFile(join(built, 'assets', name))]));
  app.get<{ Params: { name: string } }>('/assets/:name', (request, reply) => {
    const send = assets.get(request.params.name);
    if (!send) throw nothingHere();
    // The file names change with their content.
    return send(request, reply, 'public, max-age=31536000, immutable');
  });
}

function nothingHere(): ApiError {
  return new ApiError('resource_not_found', 'This path does not exist. The API is under /v1.');
}

type SendFile = (request: FastifyRequest, reply: FastifyReply, cacheControl: string) => FastifyReply;

/** Read on first use, and then kept. The file may be gone by then, if the dashboard was rebuilt. */
function compressedFile(file: string): SendFile {
  const read = (name: string) => (): Buffer => {
    if (!existsSync(name)) throw nothingHere();
    return readFileSync(name);
  };
  const bytes = compressible(read(file), read(`${file}.br`));
  return (request, reply, cacheControl) => {
    const encoding = acceptedEncoding(request);
    const body = bytes(encoding);
    if (encoding) reply.header('Content-Encoding', encoding);
    return reply
      .header('Content-Type', contentTypes[extname(file)] ?? 'application/octet-stream')
      .header('Vary', 'Accept-Encoding')
      .header('Cache-Control', cacheControl)
      .send(body);
  };
}
