import { invalidField, notFound } from '../../errors.ts';
import type { RateLimits } from '../../http/rate-limits.ts';
import { differencesOf, supportedVersions } from '../../http/versions/versions.ts';
import { createdAt } from '../../platform/ids.ts';
import { findSettings, findZone, lockSettings, updateSettings } from './queries.ts';
import type { CompanySettings, CompanyUpdate } from './schemas.ts';
import { setDunning } from './service.ts';
import { noCardRules } from '../payment-methods/service.ts';
import type { RequestContext } from '../../request-context.ts';

/** The company settings that a merchant sees and changes in the dashboard. */

export interface SettingsDependencies {
  readonly rateLimits: RateLimits;
  readonly forgetAccess: (companyId: string) => void;
}

export async function getSettings(
  { db, company }: RequestContext,
  { rateLimits }: SettingsDependencies,
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
    versions: supportedVersions.map((version) => ({ version, differences: [...differencesOf(version)] })),
    dunning_days: settings.dunning_days,
    after_dunning: settings.after_dunning,
    time_zone: settings.time_zone,
    authenticates: settings.authenticates,
    card_rules: { ...noCardRules, ...settings.card_rules },
    rate_limits: Object.entries(rateLimits).map(([category, limit]) => ({
      category,
      count: limit?.count ?? null,
      window_seconds: limit?.windowSeconds ?? null,
    })),
    processor,
    created_at: createdAt(company.id),
  };
}

/** Locks the settings until the transaction ends. */
export async function lockedSettings(
  context: RequestContext,
  dependencies: SettingsDependencies,
): Promise<CompanySettings> {
  await lockSettings(context.db, context.company.id);
  return getSettings(context, dependencies);
}

export async function changeSettings(
  context: RequestContext,
  dependencies: SettingsDependencies,
  change: CompanyUpdate,
): Promise<CompanySettings> {
  const { db, company } = context;
  if (change.authenticates && company.mode !== 'sandbox') {
    throw invalidField('authenticates', 'can be true in a sandbox only. Elsewhere the banks of your customers decide');
  }
  // The dunning schedule is one value in the database and two fields here.
  await lockSettings(db, company.id);
  const settings = await findSettings(db, company.id);
  if (!settings) throw notFound('company');
  const { dunning_days = settings.dunning_days, after_dunning = settings.after_dunning } = change;
  if (change.dunning_days || change.after_dunning) await setDunning(db, company.id, dunning_days, after_dunning);
  const { time_zone, ...others } = change;
  const zone = time_zone === undefined ? undefined : await zoneOf(db, time_zone);
  await updateSettings(db, company.id, { ...others, ...(zone !== undefined && { time_zone: zone }) });
  dependencies.forgetAccess(company.id);
  return getSettings(context, dependencies);
}

/** Both the database and the browsers of the team must know the zone. */
async function zoneOf(db: RequestContext['db'], name: string): Promise<string> {
  const zone = await findZone(db, name);
  if (zone === undefined || !isKnownHere(zone)) {
    throw invalidField('time_zone', 'must be an IANA time zone, for example America/New_York');
  }
  return zone;
}

function isKnownHere(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
