import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { booleanParameter, currenciesParameter, textParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { plan, planUpdate } from './schemas.ts';
import { getPlan, getPlans } from './service.ts';

const common = { tag: 'Plans', resource: 'plan', permission: 'plans:read' } as const;
const fields = { name: 'plans', schema: plan };

export function planRoutes(): Route[] {
  return [
    defineList({
      ...common,
      path: '/v1/plans',
      operationId: 'listPlans',
      summary: 'List plans',
      fields,
      sorts: ['updated_at', 'name', 'amount'],
      filters: {
        search: textParameter(limits.searchLength, 'Searches in the name, code and description.'),
        currency: currenciesParameter,
        active: booleanParameter('`true` for active plans, `false` for archived ones.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('PlanList', plan, '/v1/plans'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getPlans(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/plans/:id',
      operationId: 'getPlan',
      summary: 'Retrieve a plan',
      description: 'You create plans in the dashboard, or with `svc plans create`.',
      category: 'read',
      idempotency: 'none',
      fields,
      version: planUpdate,
      success: { status: 200, schema: plan, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getPlan(context, params.id ?? ''),
    }),
  ];
}
