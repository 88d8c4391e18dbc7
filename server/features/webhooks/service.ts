import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { ApiError, notFound, quoted } from '../../errors.ts';
import { listenCommand } from './listen-command.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Deletion } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { absoluteUrl, urlRule } from '../../platform/absolute-url.ts';
import { dayMs, hourMs } from '../../platform/durations.ts';
import { countDueDeliveries, findFailing } from './delivery-queries.ts';
import { isUnchanged } from '../../platform/changed-fields.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { AddressCheck } from '../../platform/outbound/addresses.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { mailTeam } from '../team/service.ts';
import {
  deleteEndpoint,
  disableOne,
  type EndpointRow,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  lockEndpoint,
  updateEndpoint,
} from './queries.ts';
import type {
  CreatedEndpoint,
  Endpoint,
  EndpointCreate,
  EndpointUpdate,
  RotatedSecret,
  SecretRotate,
} from './schemas.ts';
import { sealSecret } from './secrets.ts';
import { newSigningSecret } from './signing.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

export interface WebhookDependencies {
  readonly outbound: Outbound;
  readonly isAllowed: AddressCheck;
  /** Real time, which secrets and signatures use. */
  readonly clock: Clock;
  readonly secretKey: ServiceKey;
  readonly baseUrl: string;
}

export function toWire(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    enabled_events: row.enabled_events,
    status: row.status,
    disabled_reason: row.disabled_reason,
    api_version: row.api_version,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

const invalidUrl = (why: string): ApiError =>
  new ApiError('webhook_endpoint_invalid', `The endpoint URL ${why}.`, { param: 'url' });

const onThisMachine = (baseUrl: string, receiver: string): string =>
  `To receive the events of your sandbox on your machine, run \`${quoted(listenCommand(baseUrl, receiver))}\`; ` +
  `${baseUrl}/docs/sdk shows how to get svc`;

/** Checks the URL now; its address is checked again at every connection. */
async function checkUrl(text: string, { isAllowed, outbound, baseUrl }: WebhookDependencies): Promise<string> {
  const url = absoluteUrl(text);
  if (!url) throw invalidUrl(urlRule('https://shop.example.com/webhooks'));
  const notHere = (why: string): ApiError => invalidUrl(`${why}. ${onThisMachine(baseUrl, text)}`);
  if (url.protocol !== 'https:') throw notHere('must begin with https://');
  if (url.username || url.password) throw invalidUrl('must not contain a user name or password');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const notPublic = notHere('must have a public address');
  if (isIP(host)) {
    if (!isAllowed(host)) throw notPublic;
  } else {
    // A name that does not resolve yet may resolve later.
    const addresses = await outbound.resolve(host).catch(() => []);
    if (addresses.length > 0 && !addresses.some(({ address }) => isAllowed(address))) throw notPublic;
  }
  if (url.href.length > limits.urlLength) throw invalidUrl(`must have at most ${limits.urlLength} characters`);
  return url.href;
}

export interface PreparedUrl {
  readonly url: string | undefined;
}

/** Runs before the transaction, because it needs a DNS lookup. */
export async function prepareUrl(dependencies: WebhookDependencies, url: string | undefined): Promise<PreparedUrl> {
  return { url: url === undefined ? undefined : await checkUrl(url, dependencies) };
}

export async function createEndpoint(
  { db, company, nowMs }: RequestContext,
  { secretKey }: Pick<WebhookDependencies, 'secretKey'>,
  input: EndpointCreate,
  { url = input.url }: PreparedUrl,
): Promise<CreatedEndpoint> {
  const id = newId(nowMs);
  const secret = newSigningSecret(randomBytes(limits.signingSecretBytes));
  const row: EndpointRow = {
    id,
    url,
    description: input.description ?? null,
    enabled_events: input.enabled_events,
    status: 'enabled',
    disabled_reason: null,
    api_version: input.api_version ?? company.apiVersion,
    secret: sealSecret(secretKey, company.id, id, secret),
    previous_secrets: [],
    previous_secrets_until: [],
    updated_at: new Date(nowMs),
  };
  if (!(await insertEndpoint(db, company.id, row, limits.webhookEndpoints))) {
    const message = `A company can have at most ${limits.webhookEndpoints} endpoints. Delete an endpoint that you no longer need.`;
    throw new ApiError('invalid_request', message, { param: 'url' });
  }
  return { ...toWire(row), signing_secret: secret };
}

export async function getEndpoint({ db, company }: RequestContext, id: string): Promise<EndpointRow> {
  const row = await findEndpoint(db, company.id, id);
  if (!row) throw notFound('webhook endpoint');
  return row;
}

export async function getEndpoints({ db, company }: RequestContext, page: PageRequest): Promise<Page<Endpoint>> {
  const found = await listEndpoints(db, company.id, page);
  return { ...found, items: found.items.map(toWire) };
}

/** Locks the endpoint until the transaction ends. */
export async function lockedEndpoint({ db, company }: RequestContext, id: string): Promise<Endpoint | undefined> {
  const row = await lockEndpoint(db, company.id, id);
  return row && toWire(row);
}

export async function changeEndpoint(
  { db, company, nowMs }: RequestContext,
  id: string,
  input: EndpointUpdate,
  { url }: PreparedUrl,
): Promise<Endpoint> {
  return db.transaction(async (transaction) => {
    const current = await lockEndpoint(transaction, company.id, id);
    if (!current) throw notFound('webhook endpoint');
    const status = input.status ?? current.status;
    const kept = status === current.status ? current.disabled_reason : null;
    const row: EndpointRow = {
      ...current,
      url: url ?? current.url,
      description: input.description === undefined ? current.description : input.description,
      enabled_events: input.enabled_events ?? current.enabled_events,
      status,
      disabled_reason: status === 'disabled' ? (kept ?? 'by the merchant') : null,
      api_version: input.api_version ?? current.api_version,
      updated_at: new Date(nowMs),
    };
    if (isUnchanged(toWire(current), toWire(row))) return toWire(current);
    await updateEndpoint(transaction, company.id, row);
    return toWire(row);
  });
}

export async function removeEndpoint({ db, company }: RequestContext, id: string): Promise<Deletion> {
  if (!(await deleteEndpoint(db, company.id, id))) throw notFound('webhook endpoint');
  return { id, deleted: true, message: 'The webhook endpoint was deleted.' };
}

/** Returns the secrets whose grace period has not ended, the latest first. */
export function previousSecrets(row: EndpointRow, nowMs: number): { secret: Buffer; until: Date }[] {
  return row.previous_secrets.flatMap((secret, index) => {
    const until = row.previous_secrets_until[index];
    return until && until.getTime() > nowMs ? [{ secret, until }] : [];
  });
}

export async function rotateSecret(
  { db, company, nowMs }: RequestContext,
  { secretKey, clock }: WebhookDependencies,
  id: string,
  { grace_period_hours = 24 }: SecretRotate,
): Promise<RotatedSecret> {
  return db.transaction(async (transaction) => {
    const current = await lockEndpoint(transaction, company.id, id);
    if (!current) throw notFound('webhook endpoint');
    const secret = newSigningSecret(randomBytes(limits.signingSecretBytes));
    const until = new Date(clock.nowMs() + grace_period_hours * hourMs);
    // A merchant may rotate twice because the first response was lost; the receiver then still knows the secret
    // before that.
    const previous = [{ secret: current.secret, until }, ...previousSecrets(current, clock.nowMs())];
    const kept = previous.slice(0, limits.previousSecrets);
    await updateEndpoint(transaction, company.id, {
      ...current,
      secret: sealSecret(secretKey, company.id, id, secret),
      previous_secrets: kept.map((one) => one.secret),
      previous_secrets_until: kept.map((one) => one.until),
      updated_at: new Date(nowMs),
    });
    const hours = grace_period_hours === 1 ? 'an hour' : `${grace_period_hours} hours`;
    const message = `Deliveries are signed with both secrets for ${hours}.`;
    return { id, new_signing_secret: secret, previous_secret_valid_until: until.toISOString(), message };
  });
}

export type DisableReason = 'gone' | 'failing';

const reasons: Readonly<Record<DisableReason, string>> = {
  gone: 'the endpoint responded with 410 Gone',
  failing: `every delivery failed for ${limits.webhookFailingDays} days`,
};

/** Disables an endpoint automatically, with an event and a mail to the team. */
export async function disableEndpoint(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  companyId: string,
  endpointId: string,
  reason: DisableReason,
): Promise<void> {
  await db.transaction(async (transaction) => {
    const disabled = await disableOne(transaction, companyId, endpointId, reasons[reason]);
    if (!disabled) return;
    const { sequence, clock_offset_ms, ...row } = disabled;
    const nowMs = clock.nowMs() + clock_offset_ms;
    const event = newEvent(companyId, nowMs, 'webhook_endpoint.disabled', toWire(row), sequence, null);
    await emitEvents(transaction, [event]);
    await mailTeam(transaction, companyId, nowMs, {
      subject: 'Webhook endpoint disabled',
      body: [
        `We stopped sending events to ${row.url}, because ${reasons[reason]}.`,
        '',
        'Fix the endpoint, then enable it again. ' +
          `Events are kept for ${limits.eventRetentionDays} days, so you can resend those you missed.`,
        '',
        `Endpoint: ${row.id}`,
        '',
      ].join('\n'),
    });
  });
}

/** Disables endpoints whose deliveries have all failed for days. */
export async function disableFailingEndpoints(db: Database, clock: Clock): Promise<number> {
  const failing = await findFailing(db, limits.webhookFailingDays * dayMs);
  for (const { companyId, endpointId } of failing)
    await disableEndpoint({ db, clock }, companyId, endpointId, 'failing');
  return failing.length;
}

const countedMax = 100_000;

export async function deliveriesDue(db: Queryable): ReturnType<typeof countDueDeliveries> {
  return countDueDeliveries(db, countedMax);
}
