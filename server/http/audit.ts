import type { FastifyRequest } from 'fastify';
import type { Queryable } from '../platform/database.ts';
import type { Admitted } from './caller.ts';
import type { Route } from './route.ts';

/** The audit log: who changed what, and from where. */
export interface AuditLog {
  /** Records entries in the transaction of the change. */
  record(db: Queryable, entries: readonly NewAuditEntry[]): Promise<void>;
  /** Records the entry soon, in one statement with others: requests of API keys do not wait for it. */
  write(shard: string, entry: NewAuditEntry): void;
  /** Resolves when all entries are stored. */
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

/** When the audit entry of a call is recorded: once, whichever of these comes first. */
export interface Auditing {
  /** Before an irreversible call to another system. */
  readonly first: (db: Queryable) => Promise<void>;
  /** In the transaction of the change: what members do, and routes that say so. */
  readonly withChange: (db: Queryable, result: unknown) => Promise<void>;
  /** After the answer: everything else. */
  readonly afterwards: (result?: unknown) => void;
  readonly needsTransaction: boolean;
}

const notAudited: Auditing = {
  first: async () => undefined,
  withChange: async () => undefined,
  afterwards: () => undefined,
  needsTransaction: false,
};

export function auditingOf(
  log: AuditLog,
  route: Route,
  request: FastifyRequest,
  admitted: Admitted,
  input: Input,
  atMs: number,
): Auditing {
  const entry = auditEntry(route, request, admitted, input, atMs);
  if (!entry) return notAudited;
  const isTransactional = !route.phased && (admitted.caller.kind === 'member' || route.audit === 'with_change');
  let isRecorded = false;
  return {
    async first(db) {
      if (!isRecorded) await log.record(db, [entry]);
      isRecorded = true;
    },
    // The transaction may be rolled back and repeated, so this does not count as recorded.
    async withChange(db, result) {
      if (isTransactional && !isRecorded) await log.record(db, [concerning(entry, result)]);
    },
    afterwards(result) {
      if (!isTransactional && !isRecorded) log.write(admitted.company.shard, concerning(entry, result));
    },
    needsTransaction: isTransactional,
  };
}

/** The entry of a call that changes something; undefined for any other call. */
function auditEntry(
  route: Route,
  request: FastifyRequest,
  { company, caller }: Admitted,
  input: Input,
  atMs: number,
): NewAuditEntry | undefined {
  if (route.method === 'GET' || route.audit === 'none' || route.publishable) return undefined;
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
function concerning(entry: NewAuditEntry, result: unknown): NewAuditEntry {
  const id = (result as { id?: unknown } | undefined)?.id;
  return { ...entry, objectId: entry.objectId ?? (typeof id === 'string' ? id : null) };
}
