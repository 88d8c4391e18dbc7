import { defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { profile, profileUpdate } from './schemas.ts';
import { changeProfile, lockedProfile, prepareLogo, profileOf, setLogo } from './service.ts';

const common = {
  tag: 'Company',
  resource: 'company',
  category: 'write',
  idempotency: 'optional',
  permission: 'company:write',
  success: { status: 200, schema: profile, shape: 'resource' },
  errors: [],
} as const;

/** Used only by the dashboard. */
export function profileRoutes(access: { readonly forgetAccess: (companyId: string) => void }): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/profile',
      operationId: 'getProfile',
      summary: 'Retrieve what customers see of the company',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      version: profileUpdate,
      handle: ({ context: { db, company } }) => profileOf(db, company),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/dashboard/profile',
      operationId: 'updateProfile',
      summary: 'Update what customers see of the company',
      body: profileUpdate,
      current: ({ context }) => lockedProfile(context),
      handle: async ({ context, body }) => {
        const changed = await changeProfile(context, body);
        // The language belongs to the company that is remembered with its keys.
        access.forgetAccess(context.company.id);
        return changed;
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/profile/logo',
      operationId: 'uploadLogo',
      summary: 'Upload the logo',
      upload: { field: 'file', maxBytes: limits.imageBytes, description: 'A JPEG, PNG or GIF file.' },
      errors: ['invalid_request'],
      prepare: ({ context, file }) => prepareLogo(context, file),
      handle: ({ context, prepared }) => setLogo(context, prepared),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/dashboard/profile/logo',
      operationId: 'deleteLogo',
      summary: 'Delete the logo',
      handle: ({ context }) => setLogo(context, null),
    }),
  ];
}
