import { ApiError } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import { companyConnections } from '../processors/service.ts';
import { companyOfAccount } from '../companies/service.ts';
import { findRehearsedKinds, findProgress } from './queries.ts';
import type { GoingLive } from './schemas.ts';

/** What a live company needs before it takes payments from customers. */

export function requireLive({ company }: RequestContext): void {
  if (company.mode !== 'live')
    throw new ApiError('invalid_request', 'This is only for live companies. Switch to live.');
}

/** Whether a test account of each connected kind passed its last rehearsal, or of any kind before one is connected. */
async function hasRehearsed(
  { db, company }: RequestContext,
  connected: readonly { readonly kind: string }[],
): Promise<boolean> {
  const rehearsing = await companyOfAccount({ name: company.shard, db }, company.accountId, 'rehearsal');
  const kinds = new Set(rehearsing && (await findRehearsedKinds(db, rehearsing.id)));
  return kinds.size > 0 && connected.every(({ kind }) => kinds.has(kind));
}

export async function getGoingLive(context: RequestContext): Promise<GoingLive> {
  requireLive(context);
  const { db, company, nowMs } = context;
  const progress = await findProgress(db, company.id, new Date(nowMs));
  const connected = (await companyConnections(db, company.id)).filter(({ disconnected_at }) => !disconnected_at);
  const noticed = connected.filter(({ kind }) => kindNamed(kind).sendsNotices);
  const steps: GoingLive['steps'] = [
    { step: 'processor', is_done: connected.length > 0 },
    { step: 'api_keys', is_done: progress.api_key },
    { step: 'webhooks', is_done: progress.webhook_endpoint },
    { step: 'charge', is_done: progress.charge },
  ];
  const isRehearsed = await hasRehearsed(context, connected);
  // A company that takes payments already is not asked for it.
  if (isRehearsed || !progress.charge) steps.unshift({ step: 'rehearsal', is_done: isRehearsed });
  if (noticed.length > 0) {
    const is_done = noticed.every(({ notice_seen_at }) => notice_seen_at !== null);
    steps.splice(steps.findIndex(({ step }) => step === 'processor') + 1, 0, { step: 'notices', is_done });
  }
  return { is_complete: steps.every(({ is_done }) => is_done), steps };
}
