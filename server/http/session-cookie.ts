import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import { isLoopback } from '../platform/addresses.ts';
import { daySeconds } from '../platform/durations.ts';

/** The cookie of the dashboard: not readable by scripts, and accepted only from the dashboard's own pages. */
export interface SessionCookie {
  read(request: FastifyRequest): string | undefined;
  /**
   * Browsers send a cookie with requests from any page, and report the origin of the page: a change must come from
   * our own pages. Hosts are compared, not schemes: behind a proxy that terminates TLS only the browser knows the
   * scheme.
   */
  checkSameSite(request: FastifyRequest): void;
  /** Rejects a sign-in that would set a cookie over plain HTTP, where others could read it. */
  check(request: FastifyRequest): void;
  set(reply: FastifyReply, token: string): void;
  clear(reply: FastifyReply): void;
  /** A second cookie that outlives the session: it identifies the browser, for counting failed attempts. */
  readBrowser(request: FastifyRequest): string | undefined;
  setBrowser(reply: FastifyReply, token: string): void;
}

/** Whether this is a name of the local machine. */
export function isLocalName(hostname: string): boolean {
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  return host === 'localhost' || isLoopback(host);
}

const forwarding = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/**
 * Whether the request comes from the local machine. A name that points to it from outside does not count, nor do
 * requests that a local proxy forwards for others.
 */
export function isLocal(request: FastifyRequest): boolean {
  const isForwarded = forwarding.some((name) => request.headers[name] !== undefined);
  return isLoopback(request.ip) && isLocalName(request.hostname) && !isForwarded;
}

export function sessionCookie(baseUrl: string): SessionCookie {
  const secure = baseUrl.startsWith('https:');
  // A browser accepts a cookie with this prefix only over TLS and only for this exact host.
  const prefix = secure ? '__Host-' : '';
  const [name, browserName] = [`${prefix}svc_session`, `${prefix}svc_browser`];
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  const valueOf = (request: FastifyRequest, cookie: string): string | undefined => {
    const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
    return pairs.find((pair) => pair.startsWith(`${cookie}=`))?.slice(cookie.length + 1);
  };
  return {
    read: (request) => valueOf(request, name),
    readBrowser: (request) => valueOf(request, browserName),
    setBrowser(reply, token) {
      reply.header(
        'Set-Cookie',
        `${browserName}=${token}; ${attributes}; Max-Age=${limits.knownBrowserDays * daySeconds}`,
      );
    },
    checkSameSite(request) {
      if (request.method === 'GET' || request.method === 'HEAD') return;
      const { origin = '', 'sec-fetch-site': site } = request.headers;
      // A proxy that does not forward the original host still serves the public base URL.
      const own = [request.host, new URL(baseUrl).host];
      const isOwn = URL.canParse(origin) && own.includes(new URL(origin).host);
      if (isOwn && (site === undefined || site === 'same-origin')) return;
      throw new ApiError('cross_site_request', 'This request must come from a page of the dashboard.');
    },
    check(request) {
      if (secure || isLocalName(request.hostname)) return;
      const message = 'Sign-in requires HTTPS. Set SVC_BASE_URL to the https URL of the service.';
      throw new ApiError('invalid_request', message);
    },
    set(reply, token) {
      reply.header('Set-Cookie', `${name}=${token}; ${attributes}; Max-Age=${limits.sessionDays * daySeconds}`);
    },
    clear(reply) {
      reply.header('Set-Cookie', `${name}=; ${attributes}; Max-Age=0`);
    },
  };
}
