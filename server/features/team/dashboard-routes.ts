import { defineRoute, type Route } from '../../http/route.ts';
import {
  blockMember,
  changeRole,
  changeRoleOf,
  createRole,
  inviteAgain,
  listPermissions,
  removeMember,
  removeRole,
  unblockMember,
} from './management.ts';
import { deletion, memberUpdate, permissionList, role, roleCreate, roleUpdate, teamMember } from './schemas.ts';
import type { TeamDependencies } from './service.ts';

// Whoever comes by an open session must not bring in a person of their own: that person could do the rest.
const common = {
  tag: 'Team',
  resource: 'team member',
  permission: 'team_members:write',
  category: 'write',
  stepUp: true,
  idempotency: 'optional',
  errors: [],
} as const;
const aMember = { status: 200, schema: teamMember, shape: 'resource' } as const;
const gone = { status: 200, schema: deletion, shape: 'other' } as const;

export function teamDashboardRoutes(dependencies: TeamDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/permissions',
      operationId: 'listPermissions',
      summary: 'List what roles and keys may be allowed to do',
      permission: null,
      category: 'read',
      stepUp: false,
      idempotency: 'none',
      success: { status: 200, schema: permissionList, shape: 'other' },
      handle: async () => listPermissions(),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/dashboard/team_members/:id',
      operationId: 'updateTeamMember',
      summary: 'Give a member another role',
      body: memberUpdate,
      success: aMember,
      handle: ({ context, params, body }) => changeRoleOf(context, params.id ?? '', body.role_id),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/team_members/:id/block',
      operationId: 'blockTeamMember',
      summary: 'Block a member',
      success: aMember,
      handle: ({ context, params }) => blockMember(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/team_members/:id/unblock',
      operationId: 'unblockTeamMember',
      summary: 'Let a member in again',
      success: aMember,
      handle: ({ context, params }) => unblockMember(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/team_members/:id/resend',
      operationId: 'resendInvitation',
      summary: 'Send the invitation again',
      success: aMember,
      handle: ({ context, params }) => inviteAgain(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/dashboard/team_members/:id',
      operationId: 'deleteTeamMember',
      summary: 'Remove a member',
      success: gone,
      handle: ({ context, params }) => removeMember(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      resource: 'role',
      method: 'POST',
      path: '/dashboard/roles',
      operationId: 'createRole',
      summary: 'Make a role',
      body: roleCreate,
      success: { status: 201, schema: role, shape: 'resource' },
      handle: ({ context, body }) => createRole(context, body),
    }),
    defineRoute({
      ...common,
      resource: 'role',
      method: 'PATCH',
      path: '/dashboard/roles/:id',
      operationId: 'updateRole',
      summary: 'Change a role',
      body: roleUpdate,
      success: { status: 200, schema: role, shape: 'resource' },
      handle: ({ context, params, body }) => changeRole(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      resource: 'role',
      method: 'DELETE',
      path: '/dashboard/roles/:id',
      operationId: 'deleteRole',
      summary: 'Remove a role',
      success: gone,
      handle: ({ context, params }) => removeRole(context, params.id ?? ''),
    }),
  ];
}
