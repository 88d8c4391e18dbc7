import { ApiError } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import { limits } from '../../limits.ts';
import { type ControlQueryable, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyOfAccount } from '../companies/service.ts';
import { permissionsIn } from '../users/service.ts';
import type { Endpoint } from '../webhooks/schemas.ts';
import { createEndpoint, getEndpoints, prepareUrl, type WebhookDependencies } from '../webhooks/service.ts';
import {
  type CatalogKind,
  type CopiedRow,
  copyCoupons,
  copyPlans,
  copyProducts,
  countCopied,
  lockCopy,
} from './queries.ts';
import { type CopiedKind, copiedKinds, type CopyRequest, type CopyResult } from './schemas.ts';
import { requireLive } from './service.ts';

/** Copies what a merchant set up in the sandbox to the live company. What exists there already stays as it is. */

export interface CopyDependencies {
  readonly control: ControlQueryable;
  readonly webhooks: WebhookDependencies;
}

export interface PreparedCopy {
  readonly sandboxId: string;
  /** The enabled endpoints of the sandbox, with URLs that were checked. */
  readonly endpoints: readonly Endpoint[];
  readonly leftOut: CopyResult['left_out'];
}

const included = ({ include = [...copiedKinds] }: CopyRequest): CopiedKind[] =>
  copiedKinds.filter((kind) => include.includes(kind));

/** Runs before the transaction, because URLs need a DNS lookup. */
export async function prepareCopy(
  context: RequestContext,
  { control, webhooks }: CopyDependencies,
  input: CopyRequest,
): Promise<PreparedCopy> {
  requireLive(context);
  const kinds = included(input);
  const why = 'copying requires';
  requirePermissions(
    context.caller,
    kinds.map((kind) => `${kind}:write`),
    why,
  );
  const sandbox = await sandboxOf(control, context, kinds);
  const prepared: PreparedCopy = { sandboxId: sandbox.company.id, endpoints: [], leftOut: [] };
  if (!kinds.includes('webhook_endpoints')) return prepared;
  const endpoints: Endpoint[] = [];
  const leftOut: CopyResult['left_out'] = [];
  for (const endpoint of await endpointsOf(sandbox)) {
    if (endpoint.status !== 'enabled') continue;
    try {
      const { url = endpoint.url } = await prepareUrl(webhooks, endpoint.url);
      endpoints.push({ ...endpoint, url });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      leftOut.push({ kind: 'webhook_endpoints', name: endpoint.url, reason: error.message });
    }
  }
  return { ...prepared, endpoints, leftOut };
}

/** A member of the live company may not be a member of the sandbox, and then cannot read what is there. */
async function sandboxOf(
  control: ControlQueryable,
  context: RequestContext,
  kinds: readonly CopiedKind[],
): Promise<RequestContext> {
  const { db, company, caller } = context;
  const sandbox = caller && (await companyOfAccount({ name: company.shard, db }, company.accountId, 'sandbox'));
  if (!sandbox) throw new ApiError('invalid_request', 'This company has no sandbox to copy from.');
  const permissions = await permissionsIn(control, db, { company, memberId: caller.id }, sandbox.id);
  const member = { ...caller, permissions };
  const lacking = lackingOf(
    member,
    kinds.map((kind) => `${kind}:read`),
  );
  if (lacking.length > 0) {
    const message = `In the sandbox, you do not have the permissions ${lacking.join(', ')}, which copying requires.`;
    throw new ApiError('insufficient_permissions', message);
  }
  return { ...context, company: sandbox, caller: member };
}

async function endpointsOf(context: RequestContext): Promise<readonly Endpoint[]> {
  const sort = { field: 'created_at', descending: false };
  return (await getEndpoints(context, { limit: limits.webhookEndpoints, sort, cursor: null })).items;
}

interface Copied {
  readonly copied: number;
  readonly skipped: number;
  readonly leftOut: CopyResult['left_out'];
}

const nothing: Copied = { copied: 0, skipped: 0, leftOut: [] };

/** Runs in one transaction: all of it is copied, or nothing. */
export async function copyFromSandbox(
  context: RequestContext,
  webhooks: WebhookDependencies,
  input: CopyRequest,
  { sandboxId, endpoints, leftOut }: PreparedCopy,
): Promise<CopyResult> {
  const { db, company } = context;
  const kinds = included(input);
  await lockCopy(db, company.id);
  const catalog = { products: nothing, plans: nothing, coupons: nothing };
  // In this order, because plans contain products, and coupons can be for products and plans.
  for (const kind of ['products', 'plans', 'coupons'] as const) {
    if (kinds.includes(kind)) catalog[kind] = await copyCatalog(context, kind, sandboxId);
  }
  const existing = new Set((await endpointsOf(context)).map(({ url }) => url));
  const signing_secrets: CopyResult['signing_secrets'] = [];
  for (const { url, description, enabled_events, api_version } of endpoints) {
    if (existing.has(url)) continue;
    existing.add(url);
    const fields = { url, description, enabled_events, api_version } as Parameters<typeof createEndpoint>[2];
    const { id, signing_secret } = await createEndpoint(context, webhooks, fields, { url });
    signing_secrets.push({ endpoint_id: id, url, signing_secret });
  }
  const counts = ({ copied, skipped }: Copied): CopyResult['products'] => ({ copied, skipped });
  return {
    products: counts(catalog.products),
    plans: counts(catalog.plans),
    coupons: counts(catalog.coupons),
    webhook_endpoints: {
      copied: signing_secrets.length,
      skipped: endpoints.length - signing_secrets.length,
    },
    left_out: [...Object.values(catalog).flatMap((one) => one.leftOut), ...leftOut],
    signing_secrets,
  };
}

const reasons: Readonly<Record<CatalogKind, string>> = {
  products: '',
  plans: 'One of its products does not exist in the live company.',
  coupons: 'None of its products or plans exists in the live company.',
};

async function copyCatalog({ db, company, nowMs }: RequestContext, kind: CatalogKind, from: string): Promise<Copied> {
  const count = await countCopied(db, kind, from, limits.copiedObjects);
  if (count > limits.copiedObjects) {
    const message = `The sandbox has more than ${limits.copiedObjects} ${kind}, which is too many to copy. Create the live ones with the API.`;
    throw new ApiError('invalid_request', message, { param: 'include' });
  }
  const newIds = (): string[] => Array.from({ length: count }, () => newId(nowMs));
  const copy = { from, to: company.id, at: new Date(nowMs), ids: newIds() };
  const rows = await refusingChanges(copiers[kind](db, { ...copy, codeIds: kind === 'coupons' ? newIds() : [] }));
  const left = rows.filter(({ is_copied }) => !is_copied);
  return {
    copied: rows.length - left.length,
    skipped: count - rows.length,
    leftOut: left.map(({ name }) => ({ kind, name, reason: reasons[kind] })),
  };
}

type Copier = (db: Queryable, copy: Parameters<typeof copyCoupons>[1]) => Promise<CopiedRow[]>;
const copiers: Readonly<Record<CatalogKind, Copier>> = {
  products: copyProducts,
  plans: copyPlans,
  coupons: copyCoupons,
};

/** For example, a coupon with the same code was created, or a product was deleted, since the statement began. */
async function refusingChanges<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    throw new ApiError('resource_in_use', 'The catalog changed while it was copied. Nothing was copied. Try again.');
  }
}
