import type { FastifyRequest } from 'fastify';
import type { Queryable } from '../platform/database.ts';
import type { Admitted } from './caller.ts';
import type { Route } from './route.ts';

/** The audit log: who changed what, and from where. */
export interface AuditLog {
  /** In the transaction of the change. */
  record(db: Queryable, entries: readonly NewAuditEntry[]): Promise<void>;
  /** Soon, in one statement with others: requests of API keys do not wait for it. */
  write(entry: NewAuditEntry): void;
  /** Resolves when everything that was written is stored. */
  flush(): Promise<void>;
}

/** A member or API key of the company, or an operator who uses the shell. */
type Actor =
  | { readonly kind: 'key' | 'member'; readonly id: string; readonly name: string }
  | { readonly kind: 'operator'; readonly id: null; readonly name: string };

export interface NewAuditEntry {
  readonly companyId: string;
  readonly atMs: number;
  readonly actor: Actor;
  readonly action: string;
  readonly objectId: string | null;
  readonly fields: readonly string[];
  readonly address: string;
  readonly requestId: string;
}

interface Input {
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The entry of a call that changes something; undefined for any other call. */
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

/** Adds the id of a new object, which only the answer has. */
export function concerning(entry: NewAuditEntry, result: unknown): NewAuditEntry {
  const id = (result as { id?: unknown } | undefined)?.id;
  return { ...entry, objectId: entry.objectId ?? (typeof id === 'string' ? id : null) };
}
