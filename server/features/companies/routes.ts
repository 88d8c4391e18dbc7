import { defineRoute, type Route } from '../../http/route.ts';
import { companySettings, companyUpdate } from './schemas.ts';
import { changeSettings, getSettings, lockedSettings, type SettingsDependencies } from './settings.ts';

export type { SettingsDependencies };

const common = {
  tag: 'Company',
  resource: 'company',
  category: 'write',
  idempotency: 'optional',
  permission: 'company:write',
  success: { status: 200, schema: companySettings, shape: 'resource' },
  errors: [],
} as const;

/** Used only by the dashboard. */
export function companyRoutes(dependencies: SettingsDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/company',
      operationId: 'getCompany',
      summary: 'Retrieve the settings of the company',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      version: companyUpdate,
      handle: ({ context }) => getSettings(context, dependencies),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/dashboard/company',
      operationId: 'updateCompany',
      summary: 'Update the settings of the company',
      body: companyUpdate,
      current: ({ context }) => lockedSettings(context, dependencies),
      handle: ({ context, body }) => changeSettings(context, dependencies, body),
    }),
  ];
}
