import { modes } from '../company.ts';
import { timingSafeEqual } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { checkOf } from '../platform/schema-check.ts';
import { counter, type Metrics } from '../platform/metrics.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { keyedHash, Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import { mountSetUps } from './card-setups.ts';
import { type Mount, mountDisputes } from './dispute-calls.ts';
import { mountProbes, traceRequests } from './probes.ts';
import type { StoredVerification, Vault } from './vault.ts';
import { choice } from '../platform/choice.ts';
import { operationKinds } from './processors/processor.ts';
import { bankAnswers } from './processors/sandbox/challenge-queries.ts';
import { boundStrangers, strangerTimeouts } from '../platform/stranger-connections.ts';
import { withoutSchemas } from '../platform/without-schemas.ts';

/** The vault as a separate process: the same calls over HTTP, for clients with its credential. */

const mode = choice(modes);
const id = Type.String({ format: 'uuid' });
const number = Type.String({ pattern: '^\\d{12,19}$' });

const text = Type.Union([Type.String(), Type.Null()]);
const outcome = Type.Object({
  outcome: choice([
    'approved',
    'declined',
    'needs_customer',
    'conflict',
    'expired',
    'not_sent',
    'unknown',
    'not_found',
    'unavailable',
  ]),
  response: Type.Optional(
    Type.Object({
      transaction_id: text,
      authorization_code: text,
      avs_result: text,
      cvv_result: text,
      response_code: text,
      response_text: text,
    }),
  ),
});

const listing = Type.Object({
  operations: Type.Array(
    Type.Object({
      kind: choice(operationKinds),
      reference: Type.String(),
      chargeReference: text,
      amount: Type.Union([Type.Integer(), Type.Null()]),
      currency: text,
      last4: text,
      approved: Type.Boolean(),
      voided: Type.Boolean(),
      transactionId: Type.String(),
      executedAtMs: Type.Integer(),
    }),
  ),
  next: text,
  nowMs: Type.Integer(),
});

const vaultAnswerShape = Type.Object({
  done: Type.Literal(true),
  fingerprint: Type.Optional(Type.String({ minLength: 1 })),
  outcome: Type.Optional(outcome),
  listing: Type.Optional(listing),
  /** Of the calls whose answers have no fixed shape here. */
  result: Type.Optional(Type.Unknown()),
  rejected: Type.Optional(Type.Unknown()),
});
export type VaultAnswer = Static<typeof vaultAnswerShape>;
export const vaultAnswer = checkOf(vaultAnswerShape);

export const vaultHealth = checkOf(Type.Object({ now_ms: Type.Number() }));
const vaultStateShape = Type.Object({ problem: text, processor_problem: text });
export type VaultState = Static<typeof vaultStateShape>;
export const vaultState = checkOf(vaultStateShape);

const atConnection = { connectionId: Type.Optional(id) };
const operation = { companyId: id, mode, reference: id, validUntilMs: Type.Integer(), ...atConnection };
const ofCharge = { chargeReference: id, chargeTransactionId: Type.Optional(Type.String()) };
const connectionKey = { companyId: id, connectionId: id };
const addressFields = {
  name: text,
  phone: text,
  line1: text,
  line2: text,
  city: text,
  state: text,
  postalCode: text,
  country: text,
};
const billing = Type.Object({ ...addressFields, email: text });
const newConnection = Type.Object({
  companyId: id,
  id,
  kind: Type.String(),
  configuration: Type.Record(Type.String(), Type.String()),
  timeoutMs: Type.Integer({ minimum: 1 }),
  keepsOmitted: Type.Optional(Type.Boolean()),
});
type SentVerification = Omit<StoredVerification, 'cvc'> & { readonly cvc: string };
const money = { amount: Type.Integer({ minimum: 1 }), currency: Type.String() };
const chargedCard = Type.Object({ cardId: id, expMonth: Type.Integer(), expYear: Type.Integer() });

const credentialUse = Type.Optional(
  Type.Object({
    initiator: choice(['customer', 'merchant']),
    sequence: choice(['first', 'subsequent', 'unscheduled']),
    startsSeries: Type.Optional(Type.Boolean()),
  }),
);

const presence = Type.Object({
  returnUrl: Type.String(),
  userAgent: Type.String(),
  acceptHeader: Type.String(),
  browser: Type.Optional(
    Type.Object({
      language: Type.String(),
      colorDepth: Type.Integer(),
      screenHeight: Type.Integer(),
      screenWidth: Type.Integer(),
      timeZoneOffsetMinutes: Type.Integer(),
    }),
  ),
  sandboxBankUrl: Type.Optional(Type.String()),
});

const lookupFields = {
  ...operation,
  sent: Type.Optional(Type.Object({ ...money, last4: text })),
  card: Type.Optional(chargedCard),
  kind: Type.Optional(choice(operationKinds)),
  ofAuthorization: Type.Optional(Type.Boolean()),
  ageMs: Type.Optional(Type.Number()),
  isRestored: Type.Optional(Type.Boolean()),
  credential: credentialUse,
  chargeReference: Type.Optional(id),
  chargeTransactionId: Type.Optional(Type.String()),
};

const vaultCalls = {
  store: checkOf(
    Type.Object({
      company_id: id,
      card_id: id,
      mode,
      number,
      security_code: Type.Optional(Type.String({ pattern: '^\\d{3,4}$' })),
      verification: Type.Optional(
        Type.Object({
          connectionId: id,
          reference: id,
          validUntilMs: Type.Integer(),
          cvc: Type.String(),
          expMonth: Type.Integer(),
          expYear: Type.Integer(),
          billing: Type.Optional(billing),
        }),
      ),
    }),
  ),
  fingerprint: checkOf(Type.Object({ company_id: id, mode, number })),
  remove: checkOf(
    Type.Object({ cards: Type.Array(Type.Object({ company_id: id, card_id: id }), { maxItems: 10_000 }) }),
  ),
  charge: checkOf(
    Type.Object({
      ...operation,
      ...money,
      card: chargedCard,
      companyTimeMs: Type.Optional(Type.Integer()),
      lookFirst: Type.Optional(Type.Boolean()),
      shipping: Type.Optional(Type.Object(addressFields)),
      customerIp: Type.Optional(Type.String({ maxLength: 45 })),
      keepsCard: Type.Optional(Type.Boolean()),
      presence: Type.Optional(presence),
      authenticates: Type.Optional(Type.Boolean()),
      credential: credentialUse,
      billing: Type.Optional(billing),
    }),
  ),
  refund: checkOf(Type.Object({ ...operation, ...money, ...ofCharge })),
  void: checkOf(
    Type.Object({
      ...operation,
      ...ofCharge,
      charged: Type.Optional(Type.Object(money)),
      ofAuthorization: Type.Optional(Type.Boolean()),
    }),
  ),
  connect: checkOf(newConnection),
  test: checkOf(Type.Union([newConnection, Type.Object(connectionKey)])),
  connectionKey: checkOf(Type.Object(connectionKey)),
  receive: checkOf(
    Type.Object({
      ...connectionKey,
      headers: Type.Record(Type.String(), Type.String()),
      body: Type.String(),
      accountId: Type.Optional(Type.String()),
    }),
  ),
  poll: checkOf(Type.Object({ ...connectionKey, after: Type.Optional(Type.String()) })),
  release: checkOf(Type.Object({ ...connectionKey, reference: id, transactionId: Type.String({ minLength: 1 }) })),
  verification: checkOf(Type.Object({ companyId: id, cardId: id })),
  operations: checkOf(
    Type.Object({
      companyId: id,
      fromMs: Type.Integer(),
      untilMs: Type.Integer(),
      after: Type.Optional(Type.String()),
      ...atConnection,
    }),
  ),
  lookup: checkOf(Type.Object(lookupFields)),
  resume: checkOf(
    Type.Object({
      ...lookupFields,
      customerHandle: Type.Optional(Type.String()),
      returned: Type.Optional(Type.Record(Type.String(), Type.String())),
      noticedHandle: Type.Optional(Type.String()),
    }),
  ),
  sandboxBank: checkOf(
    Type.Object({ companyId: id, token: Type.String(), answer: Type.Optional(choice(bankAnswers)) }),
  ),
};

function sameSecret(given: string, expected: Secret<string>): boolean {
  const key = Buffer.alloc(32);
  return timingSafeEqual(keyedHash(key, given), keyedHash(key, expected.reveal()));
}

/** For the API and the worker. It needs the token, so that its answer says that the token is accepted. */
function mountState(app: FastifyInstance, vault: Vault): void {
  app.get(statePath, async (_request, reply) => {
    const { problem = null, processorProblem = null } = await vault.health();
    return reply.send({ problem, processor_problem: processorProblem });
  });
}

export const statePath = '/state';

const requestTimeoutMs = 60_000;

const countRefused = counter('svc_vault_tokens_refused_total');

/** What anyone who reaches the port may read. None of it is secret. */
const openPaths = ['/healthz', '/readyz', '/metrics'];

interface VaultServerOptions {
  readonly metrics?: Metrics;
  readonly tracing?: Tracing;
  /** Called for each request without a token that the vault accepts. */
  readonly onRefused?: (address: string) => void;
}

export function buildVaultServer(
  vault: Vault,
  credentials: readonly Secret<string>[],
  { metrics, tracing, onRefused }: VaultServerOptions = {},
): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: 1024 * 1024,
    http: strangerTimeouts,
    requestTimeout: requestTimeoutMs,
    ...withoutSchemas,
  });
  const strangers = boundStrangers(app.server);
  if (tracing?.enabled) traceRequests(app, tracing);
  mountProbes(app, vault, metrics);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' && openPaths.includes(request.url)) return undefined;
    const given = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if (!credentials.some((credential) => sameSecret(given, credential))) {
      countRefused({ side: 'vault' });
      onRefused?.(request.ip);
      return reply.code(401).header('Connection', 'close').send({ error: 'unauthorized' });
    }
    strangers.know(request.raw.socket);
    return undefined;
  });
  // An error may contain the request, so the caller learns only that it failed.
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ error: 'failed' }));
  mountState(app, vault);

  app.post('/store', async (request, reply) => {
    const { body } = request;
    if (!vaultCalls.store.Check(body)) return reply.code(400).send({ error: 'invalid' });
    const { security_code: code } = body;
    const result = await vault.store({
      companyId: body.company_id,
      cardId: body.card_id,
      mode: body.mode,
      number: new CardNumber(body.number),
      ...(body.verification && { verification: verificationOf(body.verification) }),
      ...(code !== undefined && { securityCode: new Secret(code) }),
    });
    // The release before keeps each result with the card.
    if (result?.outcome === 'rejected') return reply.send({ done: true, rejected: result });
    return reply.send({ done: true, ...(result && { result }) });
  });
  app.post('/fingerprint', async (request, reply) => {
    const { body } = request;
    if (!vaultCalls.fingerprint.Check(body)) return reply.code(400).send({ error: 'invalid' });
    return reply.send({
      done: true,
      fingerprint: await vault.fingerprint(body.company_id, body.mode, new CardNumber(body.number)),
    });
  });
  app.post('/remove', async (request, reply) => {
    const { body } = request;
    if (!vaultCalls.remove.Check(body)) return reply.code(400).send({ error: 'invalid' });
    const removed = body.cards.map((card) => ({ companyId: card.company_id, cardId: card.card_id }));
    return reply.send({ done: true, result: await vault.remove(removed) });
  });
  app.post('/operations', async (request, reply) => {
    const { body } = request;
    if (!vaultCalls.operations.Check(body)) return reply.code(400).send({ error: 'invalid' });
    return reply.send({ done: true, listing: await vault.operations(body) });
  });
  mountOperations(app, vault);
  mountConnections(app, vault);
  return app;
}

/** The calls that processors execute, and the lookups of their outcomes. */
function mountOperations(app: FastifyInstance, vault: Vault): void {
  for (const [path, check, call] of [
    ['/charge', vaultCalls.charge, vault.charge],
    // A path of its own: a vault of the release before would charge the card.
    ['/authorize', vaultCalls.charge, vault.authorize],
    ['/capture', vaultCalls.refund, vault.capture],
    ['/refund', vaultCalls.refund, vault.refund],
    ['/void', vaultCalls.void, vault.void],
    ['/lookup', vaultCalls.lookup, vault.lookup],
    ['/resume', vaultCalls.resume, vault.resume],
  ] as const) {
    app.post(path, async (request, reply) => {
      if (!check.Check(request.body)) return reply.code(400).send({ error: 'invalid' });
      const refusal = refusalAfterRestore(request.body);
      if (refusal) return reply.send({ done: true, outcome: refusal });
      return reply.send({ done: true, outcome: await (call as (body: unknown) => Promise<object>)(request.body) });
    });
  }
}

/**
 * The release before asks the vault to look up each charge first, after a restore. This version closes the company instead, so
 * what such a process still wants to do waits until it is replaced.
 */
function refusalAfterRestore(body: object): object | undefined {
  const reason = 'after a restore, this version of the vault waits for the comparison with the processors';
  if ('lookFirst' in body && body.lookFirst) return { outcome: 'unavailable', reason };
  return 'isRestored' in body && body.isRestored ? { outcome: 'unknown', reason } : undefined;
}

function verificationOf({ cvc, billing: address, ...verification }: SentVerification): StoredVerification {
  return { ...verification, cvc: new Secret(cvc), ...(address && { billing: address }) };
}

/** The calls about connections and what their processors report. */
function mountConnections(app: FastifyInstance, vault: Vault): void {
  const mount: Mount = (path, check, call, bodyLimit = 1024 * 1024) => {
    app.post(path, { bodyLimit }, async (request, reply) => {
      const { body } = request;
      if (!check.Check(body)) return reply.code(400).send({ error: 'invalid' });
      return reply.send({ done: true, result: await call(body) });
    });
  };
  const sealed = ({ configuration, ...connection }: Static<typeof newConnection>) => ({
    ...connection,
    configuration: new Secret(configuration),
  });
  mount('/connections/save', vaultCalls.connect, (body) => vault.connect(sealed(body)));
  mount('/connections/forget', vaultCalls.connectionKey, (body) => vault.forget(body));
  mount('/connections/test', vaultCalls.test, (body) => vault.test('configuration' in body ? sealed(body) : body));
  mount('/receive', vaultCalls.receive, ({ body, ...delivery }) =>
    vault.receive({ ...delivery, body: Buffer.from(body, 'base64') }),
  );
  mount('/poll', vaultCalls.poll, ({ after, ...key }) => vault.poll({ ...key, ...(after !== undefined && { after }) }));
  mount('/release', vaultCalls.release, (body) => vault.release(body));
  mount('/sandbox-bank', vaultCalls.sandboxBank, ({ answer, ...asked }) =>
    vault.sandboxBank({ ...asked, ...(answer && { answer }) }),
  );
  mountDisputes(mount, vault);
  mountSetUps(mount, vault);
  mount('/verification', vaultCalls.verification, (body) => vault.verification(body));
}
