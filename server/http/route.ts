import type { Static, TSchema } from 'typebox';
import type { ApiErrorCode } from '../errors.ts';
import type { Answer } from './key-queries.ts';
import type { PhasedRequest } from './phases.ts';
import type { MemberPermission, ReadPermission } from './permissions.ts';
import type { QueryParameters, QueryValues } from './query-parameters.ts';
import type { TestedCard } from './refused-cards.ts';
import type { ListDeclaration, Page } from './lists.ts';
import type { RequestContext } from '../request-context.ts';

/** The declaration of a route. The common rules read it, so a handler never reads a header. */

export type RateCategory = 'read' | 'write' | 'coupon_validation' | 'capture';

export interface UploadedFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface RouteRequest<Body, Query, Prepared = undefined> {
  readonly context: RequestContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly expand: ReadonlySet<string>;
  /** On routes with `upload`. */
  readonly file: UploadedFile | undefined;
  readonly prepared: Prepared;
}

export interface RouteBase {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for path parameters; each of them is a UUID. */
  readonly path: `/v1/${string}` | '/capture' | `/dashboard/${string}`;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Null where it depends on the request; the handler then checks it. */
  readonly permission: MemberPermission | null;
  readonly category: RateCategory;
  readonly idempotency: 'required' | 'optional' | 'none';
  /** Shows or changes secrets or permissions: a member must confirm the password. */
  readonly stepUp?: boolean;
  /**
   * `none`: the route changes nothing, although it is not a GET. `with_change`: the entry is recorded in the transaction of
   * the change also for API keys, as it always is for members; otherwise it is written soon after the answer.
   */
  readonly audit?: 'none' | 'with_change';
  /** The answer contains a secret, so it is stored encrypted under the idempotency key. */
  readonly secretAnswer?: boolean;
  /** Open to publishable keys and to pages of any origin. */
  readonly publishable?: boolean;
  /**
   * The response is an object whose version is a hash of the fields of this schema, which a change can set. It becomes the
   * `ETag`. See `object-versions.ts`.
   */
  readonly version?: TSchema;
  /** The name of the object in a 404. */
  readonly resource: string;
  readonly body?: TSchema;
  /** The largest body; `limits.bodyBytes` by default. */
  readonly bodyBytes?: number;
  readonly bodyExample?: unknown;
  /** How many rows the request writes, where a number in its body says so. Arrays are counted without it. */
  readonly rowsFor?: (body: never) => number;
  readonly upload?: { readonly field: string; readonly maxBytes: number; readonly description: string };
  readonly list?: ListDeclaration;
  /** Reads many rows with any parameters, so it costs as much as a search. */
  readonly isSearch?: boolean;
  /** Only reads, and enough that a standby should do it. Lists always may. */
  readonly mayUseReplica?: boolean;
  /** The query parameters of a route that is not a list. */
  readonly parameters?: QueryParameters;
  /** The values of `expand`, each with the permission that it needs. */
  readonly expand?: Readonly<Record<string, ReadPermission>>;
  /** Adds the parameter `fields[<name>]`, whose values are the properties of the schema. */
  readonly fields?: { readonly name: string; readonly schema: TSchema };
  /** Null for a route that is always rejected. */
  readonly success: {
    readonly status: 200 | 201;
    readonly schema: TSchema;
    readonly shape: 'resource' | 'list' | 'other';
  } | null;
  /** With a status where it is not the first that `errors.ts` lists for the code. */
  readonly errors: readonly (ApiErrorCode | { readonly code: ApiErrorCode; readonly status: number })[];
}

/** A route has one of `handle`, `effect` and `phased`. */
export interface Route extends RouteBase {
  /** Runs in one transaction, together with the idempotency key and the audit entry. */
  readonly handle?: (request: RouteRequest<unknown, unknown, unknown>) => Promise<unknown>;
  /** What must happen before that transaction, because it takes long or calls other systems. */
  readonly prepare?: (request: RouteRequest<unknown, unknown>) => Promise<unknown>;
  /** Runs outside of any transaction. See `defineEffect`. */
  readonly effect?: (request: RouteRequest<unknown, unknown>) => Promise<unknown>;
  /** Moves money or cards in phases: it claims and answers the idempotency key itself, through `runPhased`. */
  readonly phased?: (request: RouteRequest<unknown, unknown>, key: PhasedRequest) => Promise<PhasedAnswer>;
  /**
   * On a route that changes an object with a version: locks the object until the transaction ends, and returns it as its GET
   * does. Runs only if the request has `If-Match`. Undefined if there is none; `handle` then says what is wrong.
   */
  readonly current?: (request: RouteRequest<unknown, unknown>) => Promise<object | undefined>;
  /** The fields that an idempotency key compares; the body by default. */
  readonly fieldsToHash?: (request: RouteRequest<unknown, unknown>) => Promise<object>;
  /** For routes that take card numbers: the card and its customer. Too many rejected cards make the client wait. */
  readonly testedCard?: (request: RouteRequest<unknown, unknown>) => Promise<TestedCard>;
  /** The company's clock afterwards, for routes that move it. */
  readonly clockAfter?: (result: unknown) => number;
}

export type PhasedAnswer = Answer & { readonly replayed: boolean };

type Typed<Body extends TSchema, Prepared, Parameters extends QueryParameters> = Omit<RouteBase, 'list'> & {
  readonly body?: Body;
  readonly rowsFor?: (body: Static<Body>) => number;
  readonly parameters?: Parameters;
  readonly current?: (request: RouteRequest<Static<Body>, undefined>) => Promise<object | undefined>;
  readonly fieldsToHash?: (request: RouteRequest<Static<Body>, undefined>) => Promise<object>;
  readonly testedCard?: (request: RouteRequest<Static<Body>, undefined>) => Promise<TestedCard>;
  readonly prepare?: (request: RouteRequest<Static<Body>, undefined>) => Promise<Prepared>;
  readonly clockAfter?: (prepared: Prepared) => number;
  readonly handle: (request: RouteRequest<Static<Body>, QueryValues<Parameters>, Prepared>) => Promise<unknown>;
};

type TypedPhased<Body extends TSchema> = Omit<RouteBase, 'list' | 'secretAnswer'> & {
  readonly body?: Body;
  /** The phases store the answer as it is, not encrypted. */
  readonly secretAnswer?: never;
  readonly phased: (request: RouteRequest<Static<Body>, undefined>, key: PhasedRequest) => Promise<PhasedAnswer>;
};

export function definePhased<Body extends TSchema = never>(route: TypedPhased<Body>): Route {
  return route as unknown as Route;
}

type TypedEffect<Body extends TSchema, Result> = Omit<RouteBase, 'list'> & {
  readonly body?: Body;
  readonly clockAfter?: (result: Result) => number;
  readonly effect: (request: RouteRequest<Static<Body>, undefined>) => Promise<Result>;
};

/**
 * For work that calls other systems and cannot be part of a transaction. Its answer is stored under the idempotency key when
 * it is done. If the process dies before that, or the key is repeated meanwhile, the work is done again. So an effect must not
 * move money or cards; what does so runs in phases.
 */
export function defineEffect<Body extends TSchema = never, Result = unknown>(route: TypedEffect<Body, Result>): Route {
  return route as unknown as Route;
}

/** Ties the types of the handler to the declaration. What a change can set makes the version of its object. */
export function defineRoute<
  Body extends TSchema = never,
  Prepared = undefined,
  Parameters extends QueryParameters = QueryParameters,
>(route: Typed<Body, Prepared, Parameters>): Route {
  const version = route.current && route.body;
  return (version ? { ...route, version } : route) as unknown as Route;
}

type TypedList<Filters extends QueryParameters> = Omit<RouteBase, 'list' | 'method' | 'idempotency' | 'category'> & {
  readonly sorts: readonly string[];
  readonly filters: Filters;
  readonly handle: (
    request: RouteRequest<undefined, QueryValues<Filters>> & { readonly page: PageRequest },
  ) => Promise<Page<unknown>>;
};

export function defineList<Filters extends QueryParameters>({ sorts, filters, ...route }: TypedList<Filters>): Route {
  const list = { sorts, filters };
  const rules = { method: 'GET', category: 'read', idempotency: 'none', mayUseReplica: true };
  return { ...route, ...rules, list } as unknown as Route;
}

export interface PageRequest {
  readonly limit: number;
  readonly sort: { readonly field: string; readonly descending: boolean };
  readonly cursor: { readonly id: string; readonly parameter: 'starting_after' | 'ending_before' } | null;
  /** Count the objects of the list instead of reading a page. */
  readonly counting?: boolean;
}
