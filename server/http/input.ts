import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { notFound, validationError } from '../errors.ts';
import { readId, readRequestId } from '../platform/ids.ts';
import { pageRequest } from './lists.ts';
import { readQuery } from './query-parameters.ts';
import type { Route, RouteBase, RouteRequest, UploadedFile } from './route.ts';
import { queryParametersOf } from './route-parameters.ts';
import { validator } from './validate.ts';

/** Reads path, query and body of a request, and checks them against the declaration of the route. */

export type Input = Omit<RouteRequest<unknown, unknown>, 'context' | 'prepared'> & {
  readonly fields: ReadonlySet<string> | undefined;
};

/** The name of a resource from its path: `payment_methods/:pm_id` is a payment method. */
function namedBy({ path }: RouteBase, name: string): string {
  const [, collection = ''] = new RegExp(`(\\w+)/:${name}\\b`).exec(path) ?? [];
  return collection.replace(/s$/, '').replaceAll('_', ' ');
}

const emptyBody = Type.Object({}, { additionalProperties: false });

/** Reads and checks the body of a request. A route without one takes an empty object. */
export function bodyReader({ method, body }: Pick<RouteBase, 'method' | 'body'>): (request: FastifyRequest) => unknown {
  if (method === 'GET') return () => undefined;
  const checkBody = validator(body ?? emptyBody);
  const { required = [] } = (body ?? emptyBody) as { required?: readonly string[] };
  // Some generated clients send null for a body that is left out. A PATCH of null stays an error: it may be a lost change.
  const takesNull = method !== 'PATCH' && required.length === 0;
  return ({ body: sent }) => checkBody(sent === undefined || (sent === null && takesNull) ? {} : sent);
}

export type ReadInput = (request: FastifyRequest, file: UploadedFile | undefined) => Input;

export function inputReader(route: Route): ReadInput {
  const parameters = queryParametersOf(route);
  const fieldsName = `fields[${route.fields?.name}]`;
  const readBody = bodyReader(route);
  const pathNames = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');

  return (request, file) => {
    const params = request.params as Record<string, string>;
    for (const name of pathNames) {
      const id = (name === 'requestId' ? readRequestId : readId)(params[name] ?? '');
      if (id === undefined) throw notFound(name === 'id' ? route.resource : namedBy(route, name), name);
      params[name] = id;
    }
    const { values, problems, unnamed } = readQuery(parameters, request.query as Record<string, unknown>);
    if (problems.length > 0) throw validationError(problems, unnamed);
    const expand = (values.expand as string[] | undefined) ?? [];
    const fields = values[fieldsName] as string[] | undefined;
    return {
      params,
      query: values,
      expand: new Set(expand),
      file,
      body: file ? undefined : readBody(request),
      fields: fields && new Set(['id', ...fields, ...expand]),
      ...(route.list && { page: pageRequest(values) }),
    };
  };
}

/** The path of this call, with ids in lower case. */
export function pathOf(route: Route, { params }: Pick<Input, 'params'>): string {
  return route.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}
