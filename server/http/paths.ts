import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';

/** Distinguishes a wrong method from a wrong path. */

interface Mounted {
  readonly method: string;
  readonly url: string;
  readonly segments: readonly string[];
  readonly pattern: RegExp;
}

export interface Paths {
  /** Returns why a request matches no route; undefined if it matches one. */
  refusalOf(request: FastifyRequest, url: string | undefined): ApiError | undefined;
}

export function rememberPaths(app: FastifyInstance): Paths {
  const mounted: Mounted[] = [];
  let ambiguous: ReadonlySet<string> | undefined;
  app.addHook('onRoute', ({ method, url }) => {
    ambiguous = undefined;
    const route = { url, segments: url.split('/'), pattern: patternOf(url) };
    for (const one of [method].flat()) mounted.push({ ...route, method: one });
  });

  return {
    refusalOf(request, url) {
      if (request.is404 || url === undefined) return refusal(request.method, meantBy(mounted, request));
      if (hasEmptyParameter(request)) return refusal(request.method, []);
      ambiguous ??= ambiguousUrls(mounted);
      if (!ambiguous.has(url)) return undefined;
      // The router matches `coupons/validate` as a coupon id if only the coupon route has the method.
      const meant = meantBy(mounted, request);
      return meant.some((route) => route.url === url) ? undefined : refusal(request.method, meant);
    },
  };
}

function patternOf(url: string): RegExp {
  const source = url
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*/g, '.*');
  return new RegExp(`^${source}$`);
}

/** Returns the routes at a path. A literal segment takes precedence over a parameter. */
function meantBy(mounted: readonly Mounted[], { url }: FastifyRequest): Mounted[] {
  const path = url.split('?', 1)[0] ?? '';
  const possible = mounted.filter(({ pattern }) => pattern.test(path));
  return possible.filter((route) => !possible.some((other) => isPreciser(other, route)));
}

/** The router accepts `customers/` as a customer with an empty id. */
function hasEmptyParameter(request: FastifyRequest): boolean {
  const params = request.params as Record<string, string>;
  for (const name in params) if (params[name] === '' && name !== '*') return true;
  return false;
}

/** Returns the URLs with a parameter where another URL has a literal segment. */
function ambiguousUrls(mounted: readonly Mounted[]): Set<string> {
  const ofLength = Map.groupBy(mounted, ({ segments }) => segments.length);
  const withParameter = mounted.filter(({ url }) => url.includes('/:'));
  const ambiguous = withParameter.filter((route) =>
    ofLength.get(route.segments.length)?.some((other) => isPreciser(other, route)),
  );
  return new Set(ambiguous.map(({ url }) => url));
}

/** Whether one URL has literal segments where the other has parameters, and is the same otherwise. */
function isPreciser(one: Mounted, other: Mounted): boolean {
  return (
    one.url !== other.url &&
    one.segments.length === other.segments.length &&
    other.segments.every((word, index) => {
      const found = one.segments[index] ?? '';
      return word === found || (word.startsWith(':') && isWord(found));
    })
  );
}

const isWord = (segment: string): boolean => !/^[:*]/.test(segment);

function refusal(method: string, there: readonly Mounted[]): ApiError {
  const allowed = [...new Set(there.map((route) => route.method))];
  if (allowed.length === 0) {
    return new ApiError('resource_not_found', 'This path does not exist. The API reference is at /docs/api.');
  }
  return new ApiError('invalid_request', `${method} is not allowed for this path. Use ${allowed.join(' or ')}.`, {
    status: 405,
    headers: { Allow: allowed.join(', ') },
  });
}
