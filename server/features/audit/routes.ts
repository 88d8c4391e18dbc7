import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { listParameter, textParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { auditEntry } from './schemas.ts';
import { getAuditEntries } from './service.ts';

export function auditRoutes(): Route[] {
  return [
    defineList({
      tag: 'Audit log',
      resource: 'audit entry',
      path: '/dashboard/audit_log',
      operationId: 'listAuditEntries',
      summary: 'List audit entries',
      permission: 'audit_log:read',
      sorts: [],
      filters: {
        actor_id: uuidParameter('Only entries by this key or member.'),
        object_id: textParameter(limits.textLength, 'Only entries about this object.'),
        action: listParameter(
          (text) =>
            /^[a-zA-Z]{1,60}$/.test(text) ? undefined : 'must be the name of an operation, for example refundOrder',
          'One or more operations, separated by commas.',
        ),
        ...createdAtFilters,
      },
      success: {
        status: 200,
        schema: listSchema('AuditEntryList', auditEntry, '/dashboard/audit_log'),
        shape: 'list',
      },
      errors: [],
      handle: ({ context, query, page }) => getAuditEntries(context, query, page),
    }),
  ];
}
