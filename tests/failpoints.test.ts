import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { allCompanies } from '../server/features/companies/service.ts';
import { backdateSubscription } from '../server/features/subscriptions/service.ts';
import { type Failpoint, failpoints } from '../server/platform/failpoints.ts';
import { applyDueNotices } from '../server/features/processors/notices.ts';
import { silentLog } from './support/silent-log.ts';
import type { KindName } from '../server/vault/processors/kind.ts';
import { kindNamed } from '../server/vault/processors/kinds.ts';
import { chaosKinds } from './chaos/kinds.ts';
import { connectTo } from './support/connect.ts';
import { openFailpointProcessor, type WalkedProcessor } from './failpoints/processor.ts';
import { companyOf, type Person, signUp } from './support/dashboard.ts';
import { compareLedger, type JournaledOperation } from './support/ledger.ts';
import { contextOf, openShop, type Shop } from './support/orders.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { somePlan, subscribe } from './support/subscriptions.ts';
import type { Company } from '../server/company.ts';
import { programPath } from './support/programs.ts';

/**
 * The service dies at every named moment on the path of money, in a process of its own. A second process is on the same
 * database: it answers the repeated request and recovers. Afterwards our books and those of the acquirer must agree.
 */

const program = programPath('main');
/** Compiled code of the processes that follow: those that are killed leave none. */
const compileCache = await mkdtemp(join(tmpdir(), 'svc-compiled-'));

/** That of the test service, as text. */
const masterSecret = '\x07'.repeat(32);

let acquirer: WalkedProcessor;
/** Has no worker: what is recovered, and when, is the test's to say. */
let survivor: TestService;
/** Owns the company. */
let operator: Person;
let company: Company;
let key: string;
let shop: Shop;

interface Doomed {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  /** Rejects when it ends before it listens. */
  readonly baseUrl: Promise<string>;
  readonly printed: () => string;
}

const launched: Doomed[] = [];

async function start(kind: KindName): Promise<void> {
  const unable = { DATABASE_URL: 'postgres://unknown@127.0.0.1:1/nothing', SVC_MASTER_SECRET: masterSecret };
  const warmUp = launch([program], unable, /$^/).exited;
  acquirer = await openFailpointProcessor(kind);
  const { url, timeoutMs } = acquirer;
  survivor = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: url } });
  await warmUp;
  operator = await signUp(survivor);
  const live = (await allCompanies(survivor.shards)).find(({ id }) => id === companyOf(operator, 'live'));
  assert.ok(live);
  const configuration = chaosKinds[kind].configuration(url);
  const connection = { kind, configuration, timeoutMs, requestLifeMs, extraOrigins: [url] };
  const connectionId = await connectTo(survivor, live.id, connection);
  await acquirer.sendNoticesTo(new URL(`/processors/${connectionId}/notices`, survivor.baseUrl).href);
  company = { ...live, processor: 'connected' };
  key = await survivor.createKey(company);
  shop = await openShop(survivor, undefined, { key });
}

async function stop(): Promise<void> {
  for (const { child } of launched) child.kill('SIGKILL');
  await Promise.all(launched.map(({ exited }) => exited));
  await Promise.all([acquirer.stop(), survivor.stop(), rm(compileCache, { recursive: true, force: true })]);
}

function launch(parameters: readonly string[], environment: Record<string, string>, ready: RegExp): Doomed {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, parameters, {
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let printed = '';
  const baseUrl = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk;
        const found = ready.exec(printed);
        if (found) resolve(found[1] ?? '');
      });
    }
    child.once('exit', () => reject(new Error(`it ended before it listened:\n${printed}`)));
  });
  baseUrl.catch(() => undefined);
  const doomed = { child, exited, baseUrl, printed: () => printed };
  launched.push(doomed);
  return doomed;
}

/** The program itself, with a failpoint armed. */
function launchService(failpoint: Failpoint, roles: string): Doomed {
  const { database, config } = survivor;
  const environment = {
    SVC_FAILPOINT: failpoint,
    SVC_ROLES: roles,
    PORT: '0',
    DATABASE_URL: database.connectionString,
    SVC_VAULT_DATABASE_URL: database.vaultUrl,
    SVC_DATA_DIR: config.dataDir,
    SVC_MASTER_SECRET: masterSecret,
    SVC_PROCESSOR_ORIGINS: acquirer.url,
    SVC_RATE_LIMIT_GLOBAL: 'off',
    SVC_RATE_LIMIT_READ: 'off',
    SVC_RATE_LIMIT_WRITE: 'off',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_LOG_LEVEL: 'warn',
  };
  return launch([program], environment, /"url.full":"(http[^"]+)".*"body":"ready"/);
}

interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** What a case leaves behind to be looked at. */
interface Scene {
  /** What kills the process. Without one its worker does that by itself. */
  readonly fatal?: Request;
  /** What is repeated afterwards, where a client would. */
  readonly repeat?: Request;
  readonly orderId?: string;
  /** How many orders there are before the process dies, and the one it dies of, where that is another. */
  readonly arranged?: number;
  readonly find?: () => Promise<string>;
}

interface Case {
  /** The kinds of processors at which it can happen; without them all. */
  readonly kinds?: readonly KindName[];
  readonly failpoint: Failpoint;
  readonly what: string;
  readonly launch: (failpoint: Failpoint) => Doomed;
  /** Brings about what has to be there before; by the survivor, which no failpoint ends. */
  readonly arrange: () => Promise<Scene>;
  /** How the repeated request ends. */
  readonly status?: number;
  /** How the order ends. */
  readonly order: string;
  /** What of it the acquirer has in the end, in order. */
  readonly taken: readonly string[];
}

const orderRequest = (): Request => ({
  method: 'POST',
  path: '/v1/orders',
  body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] },
  idempotencyKey: randomUUID(),
});
const request = (orderId: string, action: 'capture' | 'refund' | 'retry' | 'void', body?: object): Request => ({
  method: 'POST',
  path: `/v1/orders/${orderId}/${action}`,
  ...(body && { body }),
  idempotencyKey: randomUUID(),
});
const reading = (orderId: string): Request => ({ method: 'GET', path: `/v1/orders/${orderId}` });

const send = ({ method, path, ...options }: Request): Promise<Reply> =>
  survivor.call(method, path, { ...options, key });

/** Only holds the funds. */
const authorizing = (): Request => {
  const wanted = orderRequest();
  return { ...wanted, body: { ...wanted.body, capture: 'manual' } };
};

async function authorizeOrder(): Promise<string> {
  await acquirer.control({ next: [] });
  const reply = await send(authorizing());
  assert.deepEqual([reply.status, reply.body.status], [201, 'pending'], reply.text);
  return String(reply.body.id);
}

async function placeOrder(...faults: readonly string[]): Promise<string> {
  await acquirer.control({ next: faults });
  const reply = await send(orderRequest());
  assert.equal(reply.status, 201, reply.text);
  return String(reply.body.id);
}

async function refundOf(orderId: string, ...faults: readonly string[]): Promise<void> {
  await acquirer.control({ next: faults });
  const reply = await send(request(orderId, 'refund', { amount: 1_000 }));
  assert.equal(reply.status, 200, reply.text);
}

const api = (failpoint: Failpoint): Doomed => launchService(failpoint, 'api,vault');
const worker = (failpoint: Failpoint): Doomed => launchService(failpoint, 'worker,api,vault');

function charging(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a charge ${what}`,
    launch: api,
    async arrange() {
      await acquirer.control({ next: faults });
      const fatal = orderRequest();
      return { fatal, repeat: fatal };
    },
    status: 201,
    order: 'succeeded',
    taken: ['approved charge'],
    ...rest,
  };
}

/** The first charge of a card, which the processor saves. */
function saving(failpoint: Failpoint, what: string): Case {
  return charging(failpoint, what, [], {
    kinds: ['stripe'],
    async arrange() {
      await acquirer.control({ next: [] });
      const { customerId } = await openShop(survivor, undefined, { key });
      const [{ body, ...rest }] = [orderRequest()];
      const fatal = { ...rest, body: { ...body, customer_id: customerId } };
      return { fatal, repeat: fatal };
    },
  });
}

/** The same path as a charge. What stands afterwards is neither captured nor released by anyone. */
function authorized(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return charging(failpoint, what, faults, {
    async arrange() {
      await acquirer.control({ next: faults });
      const fatal = authorizing();
      return { fatal, repeat: fatal };
    },
    kinds: authorizingKinds,
    order: 'pending',
    taken: ['approved authorization'],
    ...rest,
    what: `an authorization ${what}`,
  });
}

function capturing(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    kinds: authorizingKinds,
    failpoint,
    what: `a capture ${what}`,
    launch: api,
    async arrange() {
      const orderId = await authorizeOrder();
      await acquirer.control({ next: faults });
      const fatal = request(orderId, 'capture', { amount: 1_000 });
      return { fatal, repeat: fatal, orderId };
    },
    status: 200,
    order: 'succeeded',
    taken: ['approved authorization', 'approved capture'],
    ...rest,
  };
}

function releasing(failpoint: Failpoint, what: string): Case {
  return {
    kinds: authorizingKinds,
    failpoint,
    what: `a release of held funds ${what}`,
    launch: api,
    async arrange() {
      const orderId = await authorizeOrder();
      const fatal = request(orderId, 'void');
      return { fatal, repeat: fatal, orderId };
    },
    status: 200,
    order: 'voided',
    taken: ['approved authorization', 'approved void'],
  };
}

function retrying(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a retried charge ${what}`,
    launch: api,
    async arrange() {
      const orderId = await placeOrder('decline:51');
      await acquirer.control({ next: faults });
      const fatal = request(orderId, 'retry');
      return { fatal, repeat: fatal, orderId };
    },
    status: 200,
    order: 'succeeded',
    taken: ['declined charge', 'approved charge'],
    ...rest,
  };
}

function refunding(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a refund ${what}`,
    launch: api,
    async arrange() {
      const orderId = await placeOrder();
      await acquirer.control({ next: faults });
      const fatal = request(orderId, 'refund', { amount: 1_000 });
      return { fatal, repeat: fatal, orderId };
    },
    status: 200,
    order: 'partially_refunded',
    taken: ['approved charge', 'approved refund'],
    ...rest,
  };
}

const authorizingKinds: readonly KindName[] = ['acquirer'];
const preparing: readonly KindName[] = ['stripe', 'adyen'];
const looksUpSettlements: readonly KindName[] = ['acquirer', 'stripe', 'nmi'];

function settling(failpoint: Failpoint, by: 'reader' | 'worker', rejected: boolean): Case {
  return {
    failpoint,
    what: `a refund that is ${rejected ? 'rejected' : 'settled'}, found by a ${by}`,
    launch: by === 'worker' ? worker : api,
    ...(by === 'reader' && { kinds: looksUpSettlements }),
    async arrange() {
      const orderId = await placeOrder();
      await refundOf(orderId, ...(rejected ? ['reject_refund'] : []));
      return { orderId, ...(by === 'reader' && { fatal: reading(orderId) }) };
    },
    order: rejected ? 'refund_failed' : 'partially_refunded',
    taken: ['approved charge', rejected ? 'rejected refund' : 'approved refund'],
  };
}

/** The charge for more seats, which the repeated request makes if it was not sent. */
function changing(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a change of plan ${what}`,
    launch: api,
    async arrange() {
      const plan = await somePlan(survivor, {}, company);
      const { customerId: customer_id } = shop;
      await acquirer.control({ next: [] });
      const made = await subscribe(survivor, { customer_id, plan_id: plan.id }, { key });
      assert.deepEqual([made.status, made.body.status], [201, 'active'], made.text);
      await acquirer.control({ next: faults });
      const fatal: Request = {
        method: 'POST',
        path: `/v1/subscriptions/${made.body.id}/change_plan`,
        body: { plan_id: plan.id, quantity: 2, when: 'now' },
        idempotencyKey: randomUUID(),
      };
      return { fatal, repeat: fatal, arranged: 1 };
    },
    status: 201,
    order: 'succeeded',
    taken: ['approved charge', 'approved charge'],
    ...rest,
  };
}

/** A renewal falls due while a worker runs that dies of it. */
function renewing(failpoint: Failpoint, what: string, faults: readonly string[], rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a renewal ${what}`,
    launch: worker,
    async arrange() {
      const plan = await somePlan(survivor, {}, company);
      const { customerId: customer_id } = shop;
      const made = await subscribe(survivor, { customer_id, plan_id: plan.id }, { key });
      assert.deepEqual([made.status, made.body.status], [201, 'active'], made.text);
      const context = { ...contextOf(survivor, company), db: survivor.db };
      await backdateSubscription(context, made.body.id, 31 * 86_400_000);
      await acquirer.control({ next: faults });
      const find = async (): Promise<string> => {
        const orders = (): Promise<Reply> =>
          survivor.call('GET', `/v1/orders?subscription_id=${made.body.id}`, { key });
        let list = await orders();
        // PostgreSQL may need a moment to see that the process which held the subscription is dead.
        for (let look = 0; look < 50 && list.body.data.length < 2; look += 1) {
          await survivor.subscriptions.billDue(10);
          list = await orders();
          await sleep(20);
        }
        await survivor.call('DELETE', `/v1/subscriptions/${made.body.id}`, { key });
        assert.deepEqual(
          list.body.data.map(({ subscription_cycle }: Record<string, unknown>) => subscription_cycle),
          [2, 1],
        );
        return list.body.data[0].id;
      };
      return { find, arranged: 1 };
    },
    order: 'succeeded',
    taken: ['approved charge', 'approved charge'],
    ...rest,
  };
}

/** An operation whose answer was lost, and a process that dies with the acquirer's word in its hand. */
function recovering(what: string, fault: string, by: 'repeat' | 'worker', rest: Partial<Case> = {}): Case {
  const isRefund = what.includes('refund');
  return {
    failpoint: 'reconcile.after_lookup',
    what: `${what}, found by a ${by}`,
    launch: by === 'worker' ? worker : api,
    // Where there are notices, a worker may apply one before it looks.
    ...(by === 'worker' && { kinds: ['acquirer', 'nmi'] }),
    async arrange() {
      const orderId = isRefund ? await placeOrder() : undefined;
      await acquirer.control({ next: [isRefund ? `refund:${fault}` : fault] });
      const repeat = orderId ? request(orderId, 'refund', { amount: 1_000 }) : orderRequest();
      const lost = await send(repeat);
      assert.equal(lost.status, 502, lost.text);
      await makeDue();
      return { repeat, ...(orderId && { orderId }), ...(by === 'repeat' && { fatal: repeat }) };
    },
    status: isRefund ? 200 : 201,
    order: isRefund ? 'partially_refunded' : 'succeeded',
    taken: isRefund ? ['approved charge', 'approved refund'] : ['approved charge'],
    ...rest,
  };
}

function voiding(failpoint: Failpoint, what: string, settled = false, rest: Partial<Case> = {}): Case {
  return {
    failpoint,
    what: `a void ${what}`,
    launch: api,
    async arrange() {
      await acquirer.control({ settle_after_ms: settled ? 0 : 60_000 });
      const orderId = await placeOrder();
      await acquirer.control({ settle_after_ms: 0 });
      const fatal = request(orderId, 'void');
      return { fatal, repeat: fatal, orderId };
    },
    status: 200,
    order: 'voided',
    taken: ['approved charge', 'approved void'],
    ...rest,
  };
}

/** Voids take the same way through the vault, so that one kind of processor is enough for them. */
function isReached(kind: KindName, failpoint: Failpoint): boolean {
  if (['charge.after_prepare', 'charge.after_handle'].includes(failpoint)) return preparing.includes(kind);
  if (failpoint.endsWith('_saved_card')) return kind === 'stripe';
  return kind === 'acquirer' || /^(charge|refund|retry|reconcile|renewal)\./.test(failpoint);
}

/** Adyen settles a refund by its notice, which only a worker applies. */
function isPossible(kind: KindName, { kinds, failpoint }: Case): boolean {
  return kinds?.includes(kind) ?? isReached(kind, failpoint);
}

const declinedVoid = { status: 422, order: 'succeeded', taken: ['approved charge', 'declined void'] };

const everyCase: readonly Case[] = [
  charging('charge.before_intent', 'that was not begun', []),
  // The bank has declined nothing, so the repeated request sends it, unless the processor might execute the same
  // reference twice.
  charging('charge.after_intent', 'that was not sent', [], { kinds: ['acquirer', 'stripe', 'adyen'] }),
  charging('charge.after_intent', 'that was not sent', [], { kinds: ['nmi'], order: 'failed', taken: [] }),
  // Until its handle is stored it is given up. From then on Stripe has nothing that was confirmed, which is cancelled,
  // and Adyen captures what was authorized.
  charging('charge.after_prepare', 'that was prepared', [], { kinds: preparing }),
  charging('charge.after_handle', 'that was prepared', [], { kinds: ['stripe'] }),
  charging('charge.after_handle', 'that was authorized', [], { kinds: ['adyen'] }),
  saving('charge.before_saved_card', 'whose card has a customer at Stripe that is not stored'),
  saving('charge.after_saved_card', 'whose card is not saved yet'),
  charging('charge.after_processor', 'that was approved', []),
  charging('charge.after_processor', 'that was declined', ['decline:51'], {
    kinds: ['acquirer', 'stripe', 'nmi'],
    order: 'failed',
    taken: ['declined charge'],
  }),
  // Adyen has nothing to look up for an authorization that it declined, so the bank is asked again.
  charging('charge.after_processor', 'that was declined without a trace', ['decline:51'], {
    kinds: ['adyen'],
    taken: ['declined charge', 'approved charge'],
  }),
  charging('charge.after_processor', 'whose answer was lost', ['reset_after']),
  charging('charge.after_record', 'that was written down', []),
  authorized('charge.after_intent', 'that was not sent', []),
  authorized('charge.after_processor', 'that was approved', []),
  authorized('charge.after_processor', 'whose answer was lost', ['reset_after']),
  authorized('charge.after_record', 'that was written down', []),
  capturing('capture.before_intent', 'that was not begun', []),
  capturing('capture.after_intent', 'that was not sent', []),
  capturing('capture.after_processor', 'that was approved', []),
  capturing('capture.after_processor', 'that was refused while the funds are held', ['decline:57'], {
    order: 'pending',
    taken: ['approved authorization', 'declined capture'],
  }),
  capturing('capture.after_processor', 'whose answer was lost', ['reset_after']),
  capturing('capture.after_record', 'that was written down', []),
  releasing('void.after_intent', 'that was not sent'),
  releasing('void.after_processor', 'that was approved'),
  releasing('void.after_record', 'that was written down'),
  retrying('retry.before_intent', 'that was not begun', []),
  retrying('retry.after_intent', 'that was not sent', [], { kinds: ['acquirer', 'stripe', 'adyen'] }),
  retrying('retry.after_intent', 'that was not sent', [], {
    kinds: ['nmi'],
    order: 'failed',
    taken: ['declined charge'],
  }),
  retrying('retry.after_processor', 'that was approved', []),
  retrying('retry.after_record', 'that was written down', []),
  refunding('refund.before_intent', 'that was not begun', []),
  // It never reached the acquirer, so the repeated request does it.
  refunding('refund.after_intent', 'that was not sent', []),
  refunding('refund.after_processor', 'that was taken on', []),
  refunding('refund.after_processor', 'that was declined', ['decline:57'], {
    // Stripe keeps no record of a refund that it declines.
    kinds: ['acquirer', 'nmi', 'adyen'],
    order: 'refund_failed',
    taken: ['approved charge', 'declined refund'],
  }),
  refunding('refund.after_processor', 'that is tried again', [], {
    async arrange() {
      const orderId = await placeOrder();
      await refundOf(orderId, 'reject_refund');
      await drain();
      const fatal = request(orderId, 'retry');
      return { fatal, repeat: fatal, orderId };
    },
    taken: ['approved charge', 'rejected refund', 'approved refund'],
  }),
  refunding('refund.after_accept', 'that was written down', []),
  settling('refund.before_settlement', 'reader', false),
  settling('refund.before_settlement', 'worker', true),
  settling('refund.after_settlement', 'worker', false),
  settling('refund.after_settlement', 'reader', true),
  recovering('a charge', 'reset_after', 'repeat'),
  recovering('a charge', 'error_after', 'worker'),
  recovering('a refund', 'error_after', 'repeat'),
  recovering('a refund', 'reset_after', 'worker'),
  changing('plan_change.before_intent', 'that was not begun', []),
  changing('plan_change.after_intent', 'that was not sent', []),
  changing('plan_change.after_processor', 'that was approved', []),
  changing('plan_change.after_processor', 'whose answer was lost', ['reset_after']),
  changing('plan_change.after_processor', 'that was declined', ['decline:51'], {
    order: 'failed',
    taken: ['approved charge', 'declined charge'],
  }),
  changing('plan_change.after_record', 'that was written down', []),
  renewing('renewal.before_intent', 'that was not begun', []),
  // The bank has declined nothing, so it is sent again, unless the processor might execute the same reference twice.
  renewing('renewal.after_intent', 'that was not sent', [], { kinds: ['acquirer', 'stripe', 'adyen'] }),
  renewing('renewal.after_intent', 'that was not sent', [], {
    kinds: ['nmi'],
    order: 'failed',
    taken: ['approved charge'],
  }),
  renewing('renewal.after_processor', 'that was approved', []),
  renewing('renewal.after_processor', 'whose answer was lost', ['reset_after']),
  renewing('renewal.after_processor', 'that was declined', ['decline:51'], {
    kinds: ['acquirer', 'stripe', 'nmi'],
    order: 'failed',
    taken: ['approved charge', 'declined charge'],
  }),
  // Adyen has nothing to look up for an authorization that it declined, so the bank is asked again.
  renewing('renewal.after_processor', 'that was declined without a trace', ['decline:51'], {
    kinds: ['adyen'],
    taken: ['approved charge', 'declined charge', 'approved charge'],
  }),
  renewing('renewal.after_record', 'that was written down', []),
  voiding('void.before_intent', 'that was not begun'),
  // It never reached the acquirer, so the repeated request sends it.
  voiding('void.after_intent', 'that was not sent'),
  voiding('void.after_processor', 'that was approved'),
  voiding('void.after_processor', 'that was declined', true, declinedVoid),
  voiding('void.after_record', 'that was recorded'),
  voiding('void.after_record', 'that was declined and recorded', true, declinedVoid),
];

/** As if the time had come: no process holds what is open, and no request that was sent can still arrive. */
async function makeDue(agedMs = 0): Promise<void> {
  await survivor.db.query(
    `UPDATE open_transactions SET locked_until = now(), next_check_at = now(),
       valid_until = valid_until - $1 * interval '1 ms'`,
    [agedMs],
  );
}

const requestLifeMs = 6_000;

/** Applies what the processor has reported meanwhile. Returns whether something is left. */
async function applyNotices(): Promise<boolean> {
  const { db, orders } = survivor;
  const isDelivered = await acquirer.isDelivered();
  await db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL');
  await applyDueNotices({ db, vault: survivor.vault, orders, log: silentLog }, 100);
  const waiting = await db.query('SELECT id FROM processor_notices WHERE applied_at IS NULL');
  return !isDelivered || waiting.length > 0;
}

async function drain(): Promise<void> {
  for (let round = 0; round < 40; round += 1) {
    await makeDue(requestLifeMs);
    const checked = await survivor.orders.reconcileDue(100);
    const isWaiting = await applyNotices();
    if (checked === 0 && !isWaiting) return;
    if (isWaiting) await sleep(50);
  }
  assert.fail('something stays open');
}

/** Repeats a request as long as the response asks for it, and returns the responses before the last one. */
async function repeatUntilAnswered(repeated: Request): Promise<{ reply: Reply; refused: number[] }> {
  const refused: number[] = [];
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const reply = await send(repeated);
    if (![409, 502, 503].includes(reply.status)) return { reply, refused };
    refused.push(reply.status);
    // First its lock runs out, then the time in which what was sent may still arrive.
    await makeDue(reply.status === 502 ? requestLifeMs : 0);
  }
  return assert.fail(`never answered: ${refused.join()}`);
}

/** What moved money or was refused. */
async function journal(): Promise<JournaledOperation[]> {
  return (await acquirer.journal()).filter(({ status }) => status !== 'authorized' && status !== 'cancelled');
}

async function countOrders(): Promise<number> {
  const [row] = await survivor.db.query<{ count: number }>('SELECT count(*)::integer AS count FROM orders');
  return row?.count ?? 0;
}

async function kill({ child, exited, baseUrl, printed }: Doomed, fatal: Request | undefined): Promise<void> {
  if (fatal) {
    const { method, path, body, idempotencyKey } = fatal;
    // A request that only starts a look may be answered before the process dies of what it finds.
    const origin = await baseUrl;
    await fetch(origin + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(idempotencyKey && { 'x-svc-idempotency-key': idempotencyKey }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).then(
      async (response) => assert.equal(method, 'GET', `it lived and said ${response.status} ${await response.text()}`),
      () => undefined,
    );
  }
  await exited;
  assert.equal(child.signalCode, 'SIGKILL', printed());
}

interface Walk {
  readonly kind: KindName;
  /** Each failpoint once, or each operation that can be in flight there. */
  readonly everything: boolean;
  /** Only these; without them all. */
  readonly only?: readonly Failpoint[];
}

/** Defines the tests of one kind of processor. */
function walk(wanted: Walk): void {
  describe(`with the processor ${wanted.kind}`, { concurrency: false }, () => define(wanted));
}

function define({ kind, everything, only = failpoints }: Walk): void {
  const possible = everyCase.filter((one) => only.includes(one.failpoint) && isPossible(kind, one));
  const cases = possible.filter(
    ({ failpoint }, index) => everything || possible.findIndex((other) => other.failpoint === failpoint) === index,
  );
  before(() => start(kind));
  after(stop);

  it('every failpoint has a case', () => {
    const covered = new Set(cases.map(({ failpoint }) => failpoint));
    const wanted = only.filter((failpoint) => isReached(kind, failpoint));
    assert.deepEqual(
      wanted.filter((failpoint) => !covered.has(failpoint)),
      [],
    );
  });

  describe('a process dies', { timeout: 280_000 }, () => {
    const doomed = new Map<number, Doomed>();
    const childOf = (index: number): Doomed | undefined => {
      const one = cases[index];
      if (one && !doomed.has(index)) doomed.set(index, one.launch(one.failpoint));
      return doomed.get(index);
    };

    for (const [index, one] of cases.entries()) {
      it(`at ${one.failpoint}: ${one.what}`, async () => {
        const isWorker = one.launch === worker;
        // A worker dies of the first thing that is due, so it starts when there is only that.
        const early = isWorker ? undefined : childOf(index);
        await drain();
        const [orders, journaled] = [await countOrders(), (await journal()).length];
        const { fatal, repeat, orderId, arranged, find } = await one.arrange();
        const before = arranged ?? (orderId || one.failpoint === 'reconcile.after_lookup' ? 1 : 0);
        assert.equal(await countOrders(), orders + before);
        const child = early ?? childOf(index);
        assert.ok(child);
        if (cases[index + 1]?.launch !== worker) childOf(index + 1);
        await kill(child, fatal);

        let id = orderId;
        if (repeat) {
          const { reply, refused } = await repeatUntilAnswered(repeat);
          assert.equal(reply.status, one.status, `${reply.text} after ${refused.join()}`);
          const answered = String(reply.body.order?.id ?? reply.body.id);
          id = orderId ?? answered;
          if (reply.status < 300) assert.equal(answered, id);
          const again = await send(repeat);
          assert.equal(again.text, reply.text);
          assert.equal(again.status, reply.status);
          assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
        }
        await drain();
        id ??= await find?.();
        assert.ok(id);
        const order = await send(reading(id));
        assert.equal(order.body.status, one.order, order.text);
        assert.equal(await countOrders(), orders + (arranged ?? 0) + 1, 'there is one order');
        const journaledNow = await journal();
        const taken = journaledNow.slice(journaled).map(({ status, kind }) => `${status} ${kind}`);
        assert.deepEqual(taken, one.taken);
        assert.deepEqual(await compareLedger(survivor.db, await acquirer.journal()), []);
        assert.deepEqual(await acquirer.savedTwice(), []);
      });
    }
  });
}

/** `npm run failpoints -- --processor KIND` walks over all failpoints with another kind of processor. */
const { SVC_FAILPOINTS_PROCESSOR: chosen } = process.env;

if (chosen === undefined) {
  walk({ kind: 'acquirer', everything: process.env.SVC_FAILPOINTS === 'all' });
  walk({
    kind: 'stripe',
    everything: false,
    only: [
      'charge.before_saved_card',
      'charge.after_handle',
      'charge.after_processor',
      'retry.after_intent',
      'renewal.after_intent',
    ],
  });
} else walk({ kind: kindNamed(chosen).kind, everything: true });
