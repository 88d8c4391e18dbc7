import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { RateLimits } from '../../http/rate-limits.ts';
import { supportedVersions } from '../../http/versions/versions.ts';
import { createdAt } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import type { Vault } from '../../vault/vault.ts';
import { findSettings, requestLives, updateProcessor, updateSettings } from './queries.ts';
import type { CompanySettings, CompanyUpdate } from './schemas.ts';
import { connectAcquirer, setDunning, stopCharging } from './service.ts';
import type { RequestContext } from '../../request-context.ts';

/** The company settings that a merchant sees and changes in the dashboard. */

export interface SettingsDependencies {
  readonly vault: Vault;
  readonly rateLimits: RateLimits;
  readonly acquirers: readonly string[];
  readonly forgetAccess: () => void;
}

export async function getSettings(
  { db, company }: RequestContext,
  { vault, rateLimits, acquirers }: SettingsDependencies,
): Promise<CompanySettings> {
  const settings = await findSettings(db, company.id);
  if (!settings) throw notFound('company');
  const { processor } = settings;
  return {
    id: company.id,
    account_id: company.accountId,
    name: settings.name,
    mode: company.mode,
    api_version: settings.api_version,
    supported_versions: [...supportedVersions],
    dunning_days: settings.dunning_days,
    after_dunning: settings.after_dunning,
    rate_limits: Object.entries(rateLimits).map(([category, limit]) => ({
      category,
      count: limit?.count ?? null,
      window_seconds: limit?.windowSeconds ?? null,
    })),
    processor: { kind: processor, url: processor === 'acquirer' ? await vault.connectedTo(company.id) : null },
    acquirers: company.mode === 'live' ? [...acquirers] : [],
    created_at: createdAt(company.id),
  };
}

export async function changeSettings(
  context: RequestContext,
  dependencies: SettingsDependencies,
  change: CompanyUpdate,
): Promise<CompanySettings> {
  const { db, company } = context;
  const settings = await findSettings(db, company.id);
  if (!settings) throw notFound('company');
  const { dunning_days = settings.dunning_days, after_dunning = settings.after_dunning } = change;
  if (change.dunning_days || change.after_dunning) await setDunning(db, company.id, dunning_days, after_dunning);
  await updateSettings(db, company.id, change);
  dependencies.forgetAccess();
  return getSettings(context, dependencies);
}

const timing = { timeoutMs: 10_000, requestLifeMs: requestLives.live };

/** The operator lists the allowed URLs: an arbitrary URL could point into the operator's network. */
export async function connect(
  { db, company, auditFirst }: RequestContext,
  { vault, acquirers }: SettingsDependencies,
  { url, secret }: { url: string; secret: string },
): Promise<void> {
  if (company.mode !== 'live') {
    throw new ApiError('invalid_request', 'Sandbox companies cannot connect a processor. Switch to live.');
  }
  if (!acquirers.includes(url)) {
    const known =
      acquirers.length > 0 ? `one of ${acquirers.join(', ')}` : 'an acquirer that your operator offers (SVC_ACQUIRERS)';
    throw invalidField('url', `must be ${known}`);
  }
  const connection = { url, secret: new Secret(secret), ...timing };
  await connectAcquirer(db, vault, company, connection, async (inner) => auditFirst?.(inner));
}

export async function noteProcessor(
  context: RequestContext,
  dependencies: SettingsDependencies,
  processor: 'acquirer' | null,
): Promise<CompanySettings> {
  await updateProcessor(context.db, context.company.id, processor, timing.requestLifeMs);
  dependencies.forgetAccess();
  return getSettings(context, dependencies);
}

/** Stops new charges first, then removes the connection. */
export async function disconnect(
  { db, company, auditFirst }: RequestContext,
  { vault }: SettingsDependencies,
): Promise<void> {
  if (company.mode !== 'live')
    throw new ApiError('invalid_request', 'Sandbox companies have no processor to disconnect. Switch to live.');
  await stopCharging(db, company);
  await auditFirst?.(db);
  await vault.connect(company.id, null);
}
