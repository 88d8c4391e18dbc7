import { ApiError, invalidField, notFound } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { deleteView, findViews, upsertView } from './queries.ts';
import type { SavedView, SavedViewCreate } from './schemas.ts';

/** Each member has their own views in each company, sandbox and live. */

function memberOf({ caller }: RequestContext): string {
  if (caller?.kind !== 'member') throw new Error('a view belongs to a member');
  return caller.id;
}

export async function getViews(context: RequestContext): Promise<{ data: SavedView[] }> {
  return { data: await findViews(context.db, context.company.id, memberOf(context)) };
}

function searchProblem(search: SavedViewCreate['search']): string | undefined {
  const names = Object.keys(search);
  if (names.length > limits.savedViewFilters) return `must have at most ${limits.savedViewFilters} filters`;
  return names.every((name) => /^[a-z_]{1,40}$/.test(name)) ? undefined : 'must name filters, for example status';
}

export async function saveView(context: RequestContext, { list, name, search }: SavedViewCreate): Promise<SavedView> {
  const problem = searchProblem(search);
  if (problem) throw invalidField('search', problem);
  const view = { id: newId(context.nowMs), list, name: name.trim(), search };
  const saved = await upsertView(context.db, context.company.id, memberOf(context), view, limits.savedViews);
  if (!saved) {
    throw new ApiError('invalid_request', `You have ${limits.savedViews} saved views. Delete one to save another.`);
  }
  return saved;
}

export async function removeView(context: RequestContext, id: string): Promise<{ id: string; deleted: true }> {
  if (!(await deleteView(context.db, context.company.id, memberOf(context), id))) throw notFound('view');
  return { id, deleted: true };
}
