import type { Static } from 'typebox';
import { ApiError, notFound } from '../../errors.ts';
import { requirePermissions } from '../../http/caller.ts';
import { memberPermissions, permissionNotes, permissions as keyPermissions } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import { violatedConstraint } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { revokeTrialKeys } from '../api-keys/service.ts';
import { revokeLinksFor } from '../mails/service.ts';
import {
  deleteMember,
  deleteRole,
  findMember,
  findRoles,
  lockMember,
  lockOwners,
  lockRole,
  type MemberRow,
  extendInvitation,
  type RoleRow,
  saveCustomRole,
  updateMember,
} from './queries.ts';
import type { permissionList, Role, RoleCreate, RoleUpdate, TeamMember } from './schemas.ts';
import {
  hashOf,
  invitationExpiry,
  mailInvitation,
  newToken,
  roleToGive,
  roleToWire,
  type TeamDependencies,
  toWire,
} from './service.ts';
import type { RequestContext } from '../../request-context.ts';

/**
 * Team management in the dashboard. The sessions of a blocked member end at once, because every request checks the
 * status.
 */

export function listPermissions(): Static<typeof permissionList> {
  const forKeys = new Set<string>(keyPermissions);
  return {
    data: memberPermissions.map((key) => ({ key, for_keys: forKeys.has(key), note: permissionNotes[key] ?? null })),
  };
}

/** Reads the member before a change, in the transaction of the change. */
async function change(
  context: RequestContext,
  id: string,
  work: (inner: RequestContext, member: MemberRow) => Promise<void>,
): Promise<TeamMember> {
  const { company } = context;
  return context.db.transaction(async (db) => {
    const inner = { ...context, db };
    // Owners are locked before any member, so that two changes of owners run one after the other.
    const owners = await lockOwners(db, company.id);
    const member = await lockMember(db, company.id, id);
    if (!member) throw notFound('team member');
    // A caller who may not grant a role may not remove it either, nor an invitation into it.
    await roleToGive(inner, member.role_id);
    await work(inner, member);
    await revokeTrialKeys(db, company.id);
    const after = await lockMember(db, company.id, id);
    const stillOwned = (await lockOwners(db, company.id)).length > 0;
    if (owners.length > 0 && !stillOwned) {
      throw new ApiError(
        'invalid_state_transition',
        'A company needs an owner. Give another member the role Owner first.',
      );
    }
    return toWire(after ?? member);
  });
}

export async function getMember({ db, company }: RequestContext, id: string): Promise<TeamMember> {
  const member = await findMember(db, company.id, id);
  if (!member) throw notFound('team member');
  return toWire(member);
}

/** Locks the member until the transaction ends. */
export async function lockedMember({ db, company }: RequestContext, id: string): Promise<TeamMember | undefined> {
  await lockOwners(db, company.id);
  const member = await lockMember(db, company.id, id);
  return member && toWire(member);
}

export const changeRoleOf = (context: RequestContext, id: string, roleId: string): Promise<TeamMember> =>
  change(context, id, async (inner, member) => {
    const role = await roleToGive(inner, roleId);
    if (role.id === member.role_id) return;
    await updateMember(inner.db, inner.company.id, id, { role_id: role.id }, new Date(inner.nowMs));
  });

function expectStatus(member: MemberRow, statuses: readonly MemberRow['status'][], what: string): void {
  if (statuses.includes(member.status)) return;
  throw new ApiError(
    'invalid_state_transition',
    `The status of this member is ${member.status}, so they cannot be ${what}.`,
  );
}

export const blockMember = (context: RequestContext, id: string): Promise<TeamMember> =>
  change(context, id, async ({ db, company, nowMs, caller }, member) => {
    expectStatus(member, ['active'], 'blocked');
    if (caller?.id === id) throw new ApiError('invalid_state_transition', 'You cannot block yourself.');
    await updateMember(db, company.id, id, { status: 'blocked' }, new Date(nowMs));
  });

export const unblockMember = (context: RequestContext, id: string): Promise<TeamMember> =>
  change(context, id, async ({ db, company, nowMs }, member) => {
    expectStatus(member, ['blocked'], 'unblocked');
    await updateMember(db, company.id, id, { status: 'active' }, new Date(nowMs));
  });

/** Sends a new link; the previous one becomes invalid. */
export const inviteAgain = (context: RequestContext, dependencies: TeamDependencies, id: string): Promise<TeamMember> =>
  change(context, id, async (inner, member) => {
    const { db, company, nowMs } = inner;
    expectStatus(member, ['pending'], 'invited again');
    const token = newToken(company.id);
    const expiresAt = invitationExpiry(inner);
    await extendInvitation(db, company.id, id, hashOf(dependencies, token), expiresAt, new Date(nowMs));
    await mailInvitation(dependencies, inner, toWire(member), token, expiresAt);
  });

export async function removeMember(context: RequestContext, id: string): Promise<{ id: string; deleted: true }> {
  await change(context, id, async ({ db, company, caller }) => {
    if (caller?.id === id) throw new ApiError('invalid_state_transition', 'You cannot remove yourself.');
    await deleteMember(db, company.id, id);
    await revokeLinksFor(db, id);
  });
  return { id, deleted: true };
}

function requireToGrant({ caller }: RequestContext, wanted: readonly string[]): void {
  requirePermissions(caller, wanted, 'this role would have', 'permissions');
}

async function saveRole({ db, company }: RequestContext, role: RoleRow): Promise<Role> {
  try {
    await saveCustomRole(db, company.id, role);
  } catch (error) {
    if (violatedConstraint(error) !== 'roles_name') throw error;
    throw new ApiError('resource_already_exists', 'Another role has this name.', { param: 'name' });
  }
  return roleToWire(role, true);
}

export async function createRole(context: RequestContext, input: RoleCreate): Promise<Role> {
  const { db, company, nowMs } = context;
  requireToGrant(context, input.permissions);
  const existing = await findRoles(db, company.id);
  if (existing.filter(({ custom }) => custom).length >= limits.customRoles) {
    throw new ApiError(
      'invalid_request',
      `A company can have at most ${limits.customRoles} custom roles. Delete a role that you no longer need.`,
    );
  }
  return saveRole(context, {
    id: newId(nowMs),
    name: input.name,
    description: input.description ?? '',
    default_page: input.default_page ?? '/home',
    permissions: [...new Set(input.permissions)],
    custom: true,
  });
}

async function customRole({ db, company, caller }: RequestContext, id: string): Promise<RoleRow> {
  const role = await lockRole(db, company.id, id);
  if (!role) throw notFound('role');
  requirePermissions(caller, role.permissions, `the role ${role.name} has`);
  if (!role.custom)
    throw new ApiError('invalid_state_transition', 'Built-in roles cannot be changed. Create a custom role instead.');
  return role;
}

export async function getRole({ db, company }: RequestContext, id: string): Promise<Role> {
  const role = (await findRoles(db, company.id)).find((one) => one.id === id);
  if (!role) throw notFound('role');
  return roleToWire(role, true);
}

/** Locks the role until the transaction ends. */
export async function lockedRole({ db, company }: RequestContext, id: string): Promise<Role | undefined> {
  const role = await lockRole(db, company.id, id);
  return role && roleToWire(role, true);
}

export async function changeRole(context: RequestContext, id: string, input: RoleUpdate): Promise<Role> {
  return context.db.transaction(async (db) => {
    const inner = { ...context, db };
    const role = await customRole(inner, id);
    requireToGrant(context, input.permissions ?? []);
    await revokeTrialKeys(db, context.company.id);
    return saveRole(inner, {
      ...role,
      name: input.name ?? role.name,
      description: input.description ?? role.description,
      default_page: input.default_page ?? role.default_page,
      permissions: input.permissions ? [...new Set(input.permissions)] : role.permissions,
    });
  });
}

export async function removeRole(context: RequestContext, id: string): Promise<{ id: string; deleted: true }> {
  return context.db.transaction(async (db) => {
    await customRole({ ...context, db }, id);
    try {
      await db.transaction((inner) => deleteRole(inner, context.company.id, id));
    } catch (error) {
      if (!violatedConstraint(error)) throw error;
      throw new ApiError('resource_in_use', 'Some members have this role. Give them another role first.');
    }
    return { id, deleted: true as const };
  });
}
