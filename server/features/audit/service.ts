import type { AuditLog, NewAuditEntry } from '../../http/audit.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { createBackground } from '../../platform/background.ts';
import type { Queryable } from '../../platform/database.ts';
import { createdAt, isUuid, newId } from '../../platform/ids.ts';
import { insist } from '../../platform/insist.ts';
import { createBatcher } from '../../platform/batcher.ts';
import { follow } from '../../shards/follow.ts';
import { type Shards, UnknownShardError } from '../../shards/shards.ts';
import type { Logger } from '../../platform/log.ts';
import {
  type AuditFilters,
  type AuditRow,
  findNames,
  insertEntries,
  listEntries,
  type NamedObject,
} from './queries.ts';
import type { AuditEntry } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

/** The audit log. It uses real time, even in a sandbox whose clock was moved. */

const toRow = ({ actor, ...entry }: NewAuditEntry): AuditRow & { company_id: string } => ({
  company_id: entry.companyId,
  id: newId(entry.atMs),
  actor_kind: actor.kind,
  actor_id: actor.id,
  actor_name: actor.name,
  action: entry.action,
  object_id: entry.objectId,
  fields: [...entry.fields],
  address: entry.address,
  request_id: entry.requestId,
});

/** Call it in the transaction of the change. */
export async function recordEntries(db: Queryable, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length > 0) await insertEntries(db, entries.map(toRow));
}

/** Each process writes its own entries: with a shorter time, eight processes would commit more often for them than for orders. */
const patienceMs = 250;

type Insert = (row: ReturnType<typeof toRow>) => Promise<void>;

const inserter = (db: Queryable): Insert =>
  createBatcher<ReturnType<typeof toRow>, void>(
    'audit_entries',
    async (rows) => {
      await insertEntries(db, rows);
      return rows.map(() => undefined);
    },
    // No request waits for its entry, so each statement may take many.
    { batchMax: 256, width: 1, gathering: () => patienceMs },
  );

export function openAuditLog(shards: Pick<Shards, 'each' | 'of' | 'find'>, log: Logger): AuditLog {
  // A shard that is away delays only its own entries.
  const inserters = new Map<string, Insert>();
  shards.each(({ name, db }) => inserters.set(name, inserter(db)));
  const background = createBackground();
  return {
    record: recordEntries,
    write(shard, entry) {
      const row = toRow(entry);
      const insert = async ({ name }: { readonly name: string }): Promise<void> => {
        const known = inserters.get(name);
        if (!known) throw new UnknownShardError(`The shard "${name}" is not open.`);
        await known(row);
      };
      const company = { id: entry.companyId, shard };
      background.run(
        insist(() => follow(shards, company, insert)),
        (error) => log.error({ err: error, entry }, 'audit entry lost'),
      );
    },
    flush: () => background.flush(),
  };
}

function toWire(row: AuditRow, named: ReadonlyMap<string, NamedObject>): AuditEntry {
  const object = named.get(row.object_id ?? '');
  return {
    id: row.id,
    action: row.action,
    object_id: row.object_id,
    object: object ? { type: object.type, name: object.name } : null,
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    fields: row.fields,
    address: row.address,
    request_id: row.request_id,
    created_at: createdAt(row.id),
  };
}

export async function getAuditEntries(
  { db, company, caller }: RequestContext,
  filters: AuditFilters,
  page: PageRequest,
): Promise<Page<AuditEntry>> {
  const found = await listEntries(db, company.id, filters, page);
  const ids = found.items.flatMap(({ object_id }) => (object_id !== null && isUuid(object_id) ? [object_id] : []));
  const named = await findNames(db, company.id, [...new Set(ids)], caller?.permissions ?? []);
  const byId = new Map(named.map((object) => [object.id, object]));
  return { ...found, items: found.items.map((row) => toWire(row, byId)) };
}
