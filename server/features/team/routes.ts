import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { choicesParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { memberStatus, roleList, teamMember, teamMemberCreate } from './schemas.ts';
import { getRoles, getTeamMembers, inviteTeamMember, type TeamDependencies } from './service.ts';

const common = { tag: 'Team', resource: 'team member' } as const;

export function teamRoutes(dependencies: TeamDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      resource: 'role',
      method: 'GET',
      path: '/v1/roles',
      operationId: 'listRoles',
      summary: 'List roles',
      description: 'Returns all roles, sorted by name, without pages.',
      permission: 'team_members:read',
      category: 'read',
      idempotency: 'none',
      expand: { permissions: 'team_members:read' },
      success: { status: 200, schema: roleList, shape: 'other' },
      errors: [],
      handle: ({ context, expand }) => getRoles(context, expand),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/team_members',
      operationId: 'createTeamMember',
      summary: 'Invite a team member',
      description: 'Sends an email with a link. The member is `pending` until they accept.',
      permission: 'team_members:write',
      category: 'write',
      idempotency: 'optional',
      stepUp: true,
      audit: 'with_change',
      body: teamMemberCreate,
      bodyExample: {
        first_name: 'Grace',
        last_name: 'Hopper',
        email: 'grace@example.com',
        phone_number: '+15551234567',
        role_id: '019c4c21-1000-7f00-9a55-617283940517',
      },
      success: { status: 201, schema: teamMember, shape: 'resource' },
      errors: ['resource_already_exists', 'resource_not_found'],
      handle: ({ context, body }) => inviteTeamMember(context, dependencies, body),
    }),
    defineList({
      ...common,
      path: '/v1/team_members',
      operationId: 'listTeamMembers',
      summary: 'List team members',
      permission: 'team_members:read',
      fields: { name: 'team_members', schema: teamMember },
      sorts: [],
      filters: {
        status: choicesParameter(memberStatus, 'statuses'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('TeamMemberList', teamMember, '/v1/team_members'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getTeamMembers(context, query, page),
    }),
  ];
}
