import type { Database, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { findColleagues, findRoles, insertActive, insertRoles, saveCustomRole } from './queries.ts';
import { roleTemplates } from './roles.ts';

/** Creates the roles that every company starts with. */
export async function createRoles(db: Queryable, companyId: string, nowMs: number): Promise<void> {
  await insertRoles(
    db,
    companyId,
    roleTemplates.map((template) => ({ ...template, id: newId(nowMs) })),
  );
}

/** Gives a new company the roles and the active members of another one. */
export async function copyTeam(transaction: Database, fromId: string, toId: string, nowMs: number): Promise<void> {
  await createRoles(transaction, toId, nowMs);
  for (const role of await findRoles(transaction, fromId)) {
    if (role.custom) await saveCustomRole(transaction, toId, { ...role, id: newId(nowMs) });
  }
  for (const { role_name, ...person } of await findColleagues(transaction, fromId)) {
    await insertActive(transaction, toId, { ...person, id: newId(nowMs), at: new Date(nowMs) }, role_name);
  }
}

/** The active members of two companies who are the same person: by the ID in the first one, the ID in the second. */
export async function sameMembers(db: Queryable, fromId: string, toId: string): Promise<Map<string, string>> {
  const there = new Map((await findColleagues(db, toId)).map(({ email_key, id }) => [email_key, id]));
  const found = (await findColleagues(db, fromId)).flatMap(({ email_key, id }) => {
    const other = there.get(email_key);
    return other === undefined ? [] : [[id, other] as const];
  });
  return new Map(found);
}
