import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Company } from '../company.ts';
import { ApiError, tooManyRequests } from '../errors.ts';
import { readId } from '../platform/ids.ts';
import { isPublicAddress } from '../platform/outbound/addresses.ts';
import { createMisses } from '../platform/misses.ts';
import type { Reservation } from '../platform/rate-limiter/reservations.ts';
import type { Caller, RequestContext } from '../request-context.ts';
import type { HttpDependencies } from './api-caller.ts';
import { contextOf } from './execute.ts';
import { type AddressLocale, addressLocaleOf, localeOfRequest } from './locale.ts';
import { bodyReader } from './input.ts';
import { reserveFromPage, takeFromAddress, takeFromPage, visitorFlow } from './limiting.ts';
import type { Steps } from './mount.ts';
import { companyOfToken, hashPageToken } from './page-token.ts';
import { refusingCardTesters, type TestedCard } from './refused-cards.ts';
import type { RateCategory } from './route.ts';
import { changeFlow, checkRoom, enter } from './work.ts';

/**
 * Routes that visitors of a page for customers call. The token in the path is the only credential: it leads to one company and one
 * subject, for example a checkout session.
 */

export interface PageRouteRequest<Subject, Body> {
  readonly context: RequestContext;
  readonly subject: Subject;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly address: string;
  /** The token in the path. */
  readonly token: string;
  /** What the address of the page says about its language. */
  readonly addressLocale: AddressLocale;
  /** What the browser says about itself. */
  readonly browser: { readonly userAgent: string; readonly acceptHeader: string };
  /**
   * Takes from the limit of another category, for a request that does what requests of that category do. Throws if
   * nothing is left of it. Undefined if requests are not limited.
   */
  readonly reserve: (category: RateCategory) => Promise<Reservation | undefined>;
}

export interface PageRoute<Subject> {
  readonly method: 'GET' | 'POST';
  readonly path: `/${string}/:token${string}`;
  readonly category: RateCategory;
  readonly body?: TSchema;
  readonly status?: 201;
  /** The result of the handler is a URL, to which the browser is sent. */
  readonly redirects?: true;
  /** For routes that take card numbers. Too many rejected cards make the client wait. */
  readonly testedCard?: (request: PageRouteRequest<Subject, unknown>) => Promise<TestedCard>;
  readonly handle: (request: PageRouteRequest<Subject, unknown>) => Promise<unknown>;
}

export function definePageRoute<Subject, Body extends TSchema = never>(
  route: Omit<PageRoute<Subject>, 'body' | 'handle' | 'testedCard'> & {
    readonly body?: Body;
    readonly testedCard?: (request: PageRouteRequest<Subject, Static<Body>>) => Promise<TestedCard>;
    readonly handle: (request: PageRouteRequest<Subject, Static<Body>>) => Promise<unknown>;
  },
): PageRoute<Subject> {
  return route as unknown as PageRoute<Subject>;
}

export interface PageDependencies<Subject> {
  readonly http: HttpDependencies;
  readonly companyOf: (companyId: string) => Promise<Company | undefined>;
  /** The company that the token in the path names. Default: that of a page token. */
  readonly companyIdOf?: (token: string) => string | undefined | Promise<string | undefined>;
  /** Whether all visitors have the same token, as that of a payment link. Default: one customer has it. */
  readonly sharedToken?: boolean;
  /** Whether a link can end while one of its requests runs. Then the answer is not shown. */
  readonly endsAtOnce?: boolean;
  /** Returns undefined if the token leads to nothing, or to nothing any more. */
  readonly subjectOf: (context: RequestContext, token: string) => Promise<Subject | undefined>;
}

/** A page is like a publishable key without permissions: it is in the hands of anyone. */
const visitor: Caller = {
  kind: 'key',
  id: 'page',
  name: 'Page',
  permissions: [],
  publishable: true,
  steppedUpUntilMs: 0,
};

export function pageSteps<Subject>(page: PageDependencies<Subject>): (route: PageRoute<Subject>) => Steps {
  const { http } = page;
  return (route) => {
    const readBody = bodyReader(route);
    return {
      async admit(request, reply) {
        await admitPage(request, reply, page);
        if (route.method !== 'GET') checkSameOrigin(request);
      },
      async serve(request, reply) {
        const opened = await openPage(route.category, request, reply, page);
        const asked = { ...opened, body: readBody(request) };
        const tested = await route.testedCard?.(asked);
        const admitted = { company: asked.context.company, caller: visitor };
        const result = await refusingCardTesters(http, admitted, asked.address, tested, () => route.handle(asked));
        await checkStillOpen(request, asked.context, page);
        if (route.redirects) return { redirectTo: String(result) };
        return { status: route.status ?? 200, body: JSON.stringify(result) };
      },
    };
  };
}

/** The same steps for a page that is not answered as JSON. */
export async function visitPage<Subject>(
  category: RateCategory,
  request: FastifyRequest,
  reply: FastifyReply,
  page: PageDependencies<Subject>,
): Promise<PageRouteRequest<Subject, undefined>> {
  await admitPage(request, reply, page);
  await enter(page.http.admissions, request);
  return openPage(category, request, reply, page);
}

const misses = createMisses((retryAfterSeconds) =>
  tooManyRequests('Too many pages that do not exist were opened from your IP address.', retryAfterSeconds),
);

/** The checks before the body is read: rate limit of the address, and room on the shard of the company. */
async function admitPage<Subject>(
  request: FastifyRequest,
  reply: FastifyReply,
  { http, companyIdOf = companyOfToken }: PageDependencies<Subject>,
): Promise<void> {
  await takeFromAddress(request, reply, http);
  await misses.turn(request.ip);

  const companyId = await companyIdOf((request.params as { token?: string }).token ?? '');
  if (companyId) {
    request.work.flow = visitorFlow(companyId);
    request.work.shard = await http.shardOf(companyId);
  }
  checkRoom(http.admissions, request);
}

/** Longer ones say nothing more about a browser. */
const headerLength = 1_000;

/** Finds what the token leads to. Unknown tokens count against the address only. */
async function openPage<Subject>(
  category: RateCategory,
  request: FastifyRequest,
  reply: FastifyReply,
  { http, companyOf, companyIdOf = companyOfToken, sharedToken = false, subjectOf }: PageDependencies<Subject>,
): Promise<PageRouteRequest<Subject, undefined>> {
  const { token = '', ...ids } = request.params as Readonly<Record<string, string>>;
  const params = readIds(ids);
  const companyId = await companyIdOf(token);
  const company = companyId && (await companyOf(companyId));
  if (!company) throw missed();
  const context = {
    ...contextOf(request, { company, caller: visitor }, http),
    locale: localeOfRequest(request),
    // Behind a proxy that is not trusted it would be the address of the proxy.
    ...(isPublicAddress(request.ip) && { customerIp: request.ip }),
  };
  const subject = await subjectOf(context, token);
  if (!subject) throw missed();
  const ownLink = sharedToken ? undefined : hashPageToken(token).toString('base64url', 0, 12);
  const visit = { companyId: company.id, address: request.ip, ownLink };
  await takeFromPage(request, reply, http, visit, category);
  // Only now it is known that the token is not invented: the visitors of this company wait for each other only.
  await changeFlow(http.admissions, request, `page ${company.id}`);
  const reserve = (other: RateCategory): Promise<Reservation | undefined> => reserveFromPage(http, visit, other);
  const { 'user-agent': userAgent = '', accept: acceptHeader = '*/*' } = request.headers;
  const browser = { userAgent: userAgent.slice(0, headerLength), acceptHeader: acceptHeader.slice(0, headerLength) };
  return {
    context,
    subject,
    params,
    body: undefined,
    address: request.ip,
    token,
    addressLocale: addressLocaleOf(request),
    browser,
    reserve,
  };

  function missed(): ApiError {
    misses.note(request.ip);
    return unknownPage();
  }
}

/** A change of the customer ends the link in its transaction: what was read after the change is not shown. */
async function checkStillOpen<Subject>(
  request: FastifyRequest,
  context: RequestContext,
  { endsAtOnce = false, subjectOf }: PageDependencies<Subject>,
): Promise<void> {
  if (!endsAtOnce) return;
  const { token = '' } = request.params as { token?: string };
  if (!(await subjectOf(context, token))) throw unknownPage();
}

/** Everything in a path but the token is an ID. What cannot be one does not exist. */
function readIds(ids: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ids).map(([name, text]) => {
      const id = readId(text);
      if (!id) throw unknownPage();
      return [name, id];
    }),
  );
}

export function unknownPage(): ApiError {
  return new ApiError('resource_not_found', 'This page does not exist, or its link has expired.');
}

/** Hosts are compared, not schemes: behind a proxy that terminates TLS only the browser knows the scheme. */
function checkSameOrigin(request: FastifyRequest): void {
  const { origin = '' } = request.headers;
  if (URL.canParse(origin) && new URL(origin).host === request.host) return;
  throw new ApiError('invalid_request', 'This request must come from the page itself.');
}
