import { ApiError } from '../../errors.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import type { Shards } from '../../shards/shards.ts';
import { openRehearsal } from './company.ts';
import { rehearsal, rehearsalCompany, rehearsalList, rehearsalStart } from './schemas.ts';
import { beginRehearsal, getRehearsals, toWire } from './service.ts';

export interface RehearsalDependencies {
  readonly shards: Pick<Shards, 'control' | 'of'>;
}

const common = {
  tag: 'Processors',
  resource: 'rehearsal',
  permission: 'company:write',
  category: 'write',
  idempotency: 'optional',
  errors: [],
} as const;

/** Used only by the dashboard. */
export function rehearsalRoutes(dependencies: RehearsalDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/rehearsal_company',
      operationId: 'openRehearsalCompany',
      summary: 'Create the company that rehearses with test accounts, or return it',
      success: { status: 200, schema: rehearsalCompany, shape: 'other' },
      // Outside of the transaction: the members are let in on the control plane.
      prepare: ({ context }) => openRehearsal(dependencies.shards, context.company, context.nowMs),
      handle: async ({ context, prepared: { company, members } }) => {
        if (!members.has(context.caller?.id ?? '')) {
          const message = 'You are not a member of the rehearsal company. Ask one of its owners for an invitation.';
          throw new ApiError('insufficient_permissions', message);
        }
        return { id: company.id, name: company.name };
      },
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/rehearsals',
      operationId: 'listRehearsals',
      summary: 'List the last rehearsal of each connection',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: rehearsalList, shape: 'other' },
      handle: ({ context }) => getRehearsals(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/processors/:id/rehearse',
      operationId: 'rehearseProcessor',
      summary: 'Begin a rehearsal of a connection, or return the one that is running',
      body: rehearsalStart,
      success: { status: 200, schema: rehearsal, shape: 'other' },
      handle: async ({ context: { db, company, nowMs }, params, body }) =>
        toWire(await beginRehearsal(db, company, params.id ?? '', nowMs, body)),
    }),
  ];
}
