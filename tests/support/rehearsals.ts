import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { continueRehearsals } from '../../server/features/rehearsals/jobs.ts';
import type { Rehearsal } from '../../server/features/rehearsals/schemas.ts';
import { lastRehearsal, toWire } from '../../server/features/rehearsals/service.ts';
import { applyDueNotices } from '../../server/features/processors/notices.ts';
import { CardNumber } from '../../server/vault/card-number.ts';
import type { Configuration, KindName } from '../../server/vault/processors/kind.ts';
import { companyOf, type Person, signUp } from './dashboard.ts';
import { firstShard } from '../../server/shards/shards.ts';
import { silentLog } from './silent-log.ts';
import { startTestService, type TestService } from './service.ts';
import { startTestAccounts, type TestAccounts, testConfiguration } from './test-accounts.ts';

/** A merchant with a rehearsal company, and simulated test accounts of all kinds of processors. */

export const testCard = { exp_month: 3, exp_year: 2030, cvc: '123' } as const;
const signingSecret = 'whsec_ofTheTestAccount';
const signingKey = 'SigningKeyOfTheTestAccount';

export interface Rehearsing {
  readonly service: TestService;
  readonly accounts: TestAccounts;
  readonly owner: Person;
  /** The ID of the rehearsal company. */
  readonly company: string;
  cardNumber(digits: string): CardNumber;
  /** Connects a test account of its own, whose notices arrive, and returns the ID of the connection. */
  connect(kind: KindName): Promise<string>;
  begin(connectionId: string): Promise<Rehearsal>;
  /** Does what the worker does once, and returns the rehearsal after it. */
  turn(id: string, waitMs?: number): Promise<Rehearsal>;
  /** Connects an account if there is none, and rehearses to the end. */
  rehearse(
    kind: KindName,
    options?: { readonly notified: boolean },
  ): Promise<{ readonly connectionId: string; readonly rehearsal: Rehearsal }>;
  stop(): Promise<void>;
}

/** What the worker does for rehearsals, once. */
export async function workOnRehearsals({ db, clock, vault, orders }: TestService, waitMs = 10_000): Promise<void> {
  await continueRehearsals({ name: firstShard, db, clock, vault, orders, log: silentLog }, waitMs);
  await applyDueNotices({ db, vault, orders, log: silentLog }, 100);
}

export async function openRehearsing(): Promise<Rehearsing> {
  const accounts = await startTestAccounts();
  const origins = Object.values(accounts).map(({ url }) => url);
  const settings = { SVC_PROCESSOR_ORIGINS: origins.join(), SVC_ACQUIRERS: `${accounts.acquirer.url}/` };
  const service = await startTestService({ settings });
  const owner = await signUp(service);
  const opened = await owner.in('POST', '/dashboard/rehearsal_company', {}, { company: companyOf(owner, 'live') });
  assert.equal(opened.status, 200, opened.text);
  await owner.call('GET', '/dashboard/session');
  const company: string = opened.body.id;
  const post = async (path: string, body: object): Promise<Record<string, any>> => {
    const reply = await owner.in('POST', path, body, { company, idempotencyKey: randomUUID() });
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  };

  async function receiveNotices(kind: KindName, url: string): Promise<void> {
    if (kind === 'stripe') await accounts.stripe.control({ webhook: { url, secret: signingSecret } });
    else if (kind === 'nmi') await accounts.nmi.control({ webhook: { url, signing_key: signingKey } });
    else if (kind === 'adyen')
      await accounts.adyen.control({ notice_url: url, network_references: true, requires_cvc: false });
  }

  const configurationOf = (kind: KindName): Configuration => ({
    ...testConfiguration(accounts, kind),
    ...(kind === 'stripe' && { signing_secret: signingSecret }),
    ...(kind === 'nmi' && { signing_key: signingKey }),
  });

  const connections = new Map<KindName, string>();
  const rehearsing: Rehearsing = {
    service,
    accounts,
    owner,
    company,
    cardNumber: (digits) => new CardNumber(digits),
    async connect(kind) {
      const known = connections.get(kind);
      if (known !== undefined) return known;
      const { id, notice_url } = await post('/dashboard/processors', { kind, configuration: configurationOf(kind) });
      connections.set(kind, id);
      if (notice_url) await receiveNotices(kind, new URL(new URL(notice_url).pathname, service.baseUrl).href);
      return id;
    },
    begin: async (connectionId) => (await post(`/dashboard/processors/${connectionId}/rehearse`, {})) as Rehearsal,
    async turn(id, waitMs) {
      await service.db.query(`UPDATE rehearsals SET leased_until = now() WHERE id = $1`, [id]);
      await workOnRehearsals(service, waitMs);
      const [row] = await service.db.query<{ connection_id: string }>(
        'SELECT connection_id FROM rehearsals WHERE id = $1',
        [id],
      );
      const found = await lastRehearsal(service.db, company, row?.connection_id ?? '');
      assert.ok(found);
      return toWire(found);
    },
    async rehearse(kind, { notified } = { notified: true }) {
      const connectionId = await rehearsing.connect(kind);
      const begun = await rehearsing.begin(connectionId);
      let rehearsal = begun;
      while (rehearsal.state === 'running') rehearsal = await rehearsing.turn(begun.id, notified ? 10_000 : 300);
      return { connectionId, rehearsal };
    },
    async stop() {
      await service.stop();
      await Promise.all(Object.values(accounts).map((account) => account.stop()));
    },
  };
  return rehearsing;
}
