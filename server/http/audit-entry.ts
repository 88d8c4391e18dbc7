import type { FastifyRequest } from 'fastify';
import type { NewAuditEntry } from '../features/audit/service.ts';
import type { Admitted } from './caller.ts';
import type { Route } from './route.ts';

interface Input {
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What the audit log is told of a call that changes something. */
export function auditEntry(
  route: Route,
  request: FastifyRequest,
  { company, caller }: Admitted,
  input: Input,
  atMs: number,
): NewAuditEntry | undefined {
  if (route.method === 'GET' || route.changesNothing || route.publishable) return undefined;
  return {
    companyId: company.id,
    atMs,
    actor: caller,
    action: route.operationId,
    objectId: input.params.id ?? null,
    fields: Object.keys(input.body ?? {}),
    address: request.ip,
    requestId: request.id,
  };
}

/** A new object has its id in the answer only. */
export function concerning(entry: NewAuditEntry, result: unknown): NewAuditEntry {
  const id = (result as { id?: unknown } | undefined)?.id;
  return { ...entry, objectId: entry.objectId ?? (typeof id === 'string' ? id : null) };
}
