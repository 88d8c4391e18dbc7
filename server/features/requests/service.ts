import { notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { createdAt } from '../../platform/ids.ts';
import { findRequest, listRequests as findRequests, type RequestFilters, type RequestSummaryRow } from './queries.ts';
import type { LoggedRequest, LoggedRequestDetails } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export { startRecorder } from './recorder.ts';

function shown({ actor_kind, actor_id, actor_name, ...row }: RequestSummaryRow): LoggedRequest {
  return {
    id: row.id,
    request_id: row.request_id,
    method: row.method,
    path: row.path,
    status: row.status,
    duration_ms: row.duration_ms,
    actor: { kind: actor_kind, id: actor_id, name: actor_name },
    address: row.address,
    created_at: createdAt(row.id),
  };
}

/** Returns JSON as a value; a truncated body stays text. */
function bodyOf(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export async function listRequests(
  context: RequestContext,
  filters: RequestFilters,
  page: PageRequest,
): Promise<Page<LoggedRequest>> {
  const found = await findRequests(context.db, context.company.id, filters, page);
  return { ...found, items: found.items.map(shown) };
}

export async function getRequest(context: RequestContext, requestId: string): Promise<LoggedRequestDetails> {
  const row = await findRequest(context.db, context.company.id, requestId);
  if (!row) throw notFound('request', 'requestId');
  return {
    ...shown(row),
    query: bodyOf(row.query),
    api_version: row.api_version,
    idempotency_key: row.idempotency_key,
    request_body: bodyOf(row.request_body),
    response_body: bodyOf(row.response_body),
  };
}
