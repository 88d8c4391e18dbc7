import type { FastifyRequest } from 'fastify';
import { looksLikeCardNumber, maskCardNumbers } from '../platform/card-digits.ts';
import type { Queryable } from '../platform/database.ts';
import type { ServiceKey } from '../platform/service-keys.ts';
import type { Admission } from './admit.ts';
import { findKeyInUse, type KeyedRequest } from './key-queries.ts';
import { hashFields } from './idempotency.ts';
import { pathOf } from './input.ts';
import type { Route, RouteRequest } from './route.ts';

/** What is stored of a request with an idempotency key, and compared when the key is used again. */
export async function keyedRequest(
  route: Route,
  request: FastifyRequest,
  outside: RouteRequest<unknown, unknown>,
  { idempotencyHashKey, answerKey }: { readonly idempotencyHashKey: ServiceKey; readonly answerKey: ServiceKey },
): Promise<KeyedRequest | undefined> {
  const { company, apiVersion, versionNamed, idempotencyKey } = request.admission as Admission;
  if (idempotencyKey === undefined) return undefined;
  const fields = route.fieldsToHash && !outside.file ? await route.fieldsToHash(outside) : outside.body;
  const compared = comparedFields(route, outside, fields);
  const [fieldHashes = {}, ...earlierHashes] = hashFields(idempotencyHashKey, company.id, compared);
  const { db, nowMs } = outside.context;
  const key = mayHaveCardNumber.test(idempotencyKey)
    ? await storedKey(db, idempotencyHashKey, company.id, idempotencyKey, nowMs)
    : idempotencyKey;
  return {
    companyId: company.id,
    key,
    ...(key !== idempotencyKey && { sentKey: idempotencyKey }),
    method: request.method,
    path: pathOf(route, outside),
    fieldHashes,
    earlierHashes,
    requestId: request.id,
    apiVersion,
    versionNamed,
    nowMs,
    ...(route.secretAnswer && { seal: answerSeal(answerKey, company.id) }),
  };
}

/** Twelve digits with nothing but separators between them. */
const mayHaveCardNumber = /\d(?:[_-]{0,4}\d){11}/;

/**
 * A key that looks like a card number is stored as a masked text and a keyed hash. No client can send such a key, because of
 * its characters. A key that is in use in another form stays as it is: the release before stores it as it was sent, and a hash
 * with an earlier service key is still valid.
 */
async function storedKey(
  db: Queryable,
  hashKey: ServiceKey,
  companyId: string,
  sent: string,
  nowMs: number,
): Promise<string> {
  if (!looksLikeCardNumber(sent)) return sent;
  const masked = maskCardNumbers(sent);
  const [current = '', ...earlier] = hashKey
    .hashTexts(`${companyId}\0idempotency key\0${sent}`)
    .map((hash) => `${masked}#${hash}`);
  return (await findKeyInUse(db, companyId, [sent, ...earlier], nowMs)) ?? current;
}

function comparedFields(route: Route, outside: RouteRequest<unknown, unknown>, fields: unknown): unknown {
  if (outside.file) return { file: outside.file.sha256 };
  const { caller } = outside.context;
  // A secret is shown again only to the member who saw it first: other members can find the key in the request log.
  return route.secretAnswer && caller?.kind === 'member' ? { ...(fields as object), caller: caller.id } : fields;
}

function answerSeal(key: ServiceKey, companyId: string): NonNullable<KeyedRequest['seal']> {
  return {
    close: (text) => key.seal(Buffer.from(text), companyId).toString('base64'),
    open: (text) => key.open(Buffer.from(text, 'base64'), companyId).toString(),
  };
}
