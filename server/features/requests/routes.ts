import Type from 'typebox';
import { createdAtFilters, listSchema } from '../../http/lists.ts';
import {
  choiceParameter,
  type Parsed,
  type QueryParameter,
  textParameter,
  uuidParameter,
} from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { loggedRequest, loggedRequestDetails } from './schemas.ts';
import { getRequest, listRequests } from './service.ts';

const common = { tag: 'Requests', resource: 'request', permission: 'requests:read' } as const;

const statusParameter: QueryParameter<readonly [number, number]> = {
  schema: Type.String({ pattern: '^[1-5]([0-9]{2}|xx)$', examples: ['404', '5xx'] }),
  description: 'A status, or a class of statuses such as `4xx`.',
  parse: ([text = '', ...more]): Parsed<readonly [number, number]> => {
    if (!/^[1-5](\d\d|xx)$/.test(text) || more.length > 0)
      return { problem: 'must be a status or a class of statuses, for example 404 or 4xx' };
    return { value: [Number(text.replace('xx', '00')), Number(text.replace('xx', '99'))] };
  },
};

export function requestRoutes(): Route[] {
  return [
    defineList({
      ...common,
      path: '/v1/requests',
      operationId: 'listRequests',
      summary: 'List API requests',
      description: `Lists the requests with a valid key of the last ${limits.requestRetentionDays} days. A request appears shortly after its response.`,
      sorts: [],
      filters: {
        request_id: textParameter(limits.textLength, 'Only the request with this ID.'),
        method: choiceParameter(['GET', 'POST', 'PATCH', 'DELETE'], 'Only requests with this method.'),
        status: statusParameter,
        path: textParameter(limits.urlLength, 'Only requests whose path begins with this.'),
        actor_id: uuidParameter('Only requests of this key or team member.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('LoggedRequestList', loggedRequest, '/v1/requests'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => listRequests(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/requests/:requestId',
      operationId: 'getRequest',
      summary: 'Retrieve an API request',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: loggedRequestDetails, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getRequest(context, params.requestId ?? ''),
    }),
  ];
}
