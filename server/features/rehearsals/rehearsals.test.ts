import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import { openRehearsing, type Rehearsing, testCard } from '../../../tests/support/rehearsals.ts';
import { callsTo } from '../../../tests/support/simulator.ts';
import { accountKinds, testConfiguration } from '../../../tests/support/test-accounts.ts';
import { isPublished, testEnvironmentOf } from '../../vault/processors/test-cards.ts';
import { firstShard } from '../../shards/shards.ts';
import { findAccount } from '../../shards/move/move.ts';

/** The rehearsal company of an account, and rehearsals at the simulated test accounts. */

let rehearsing: Rehearsing;
before(async () => {
  rehearsing = await openRehearsing();
});
after(() => rehearsing?.stop());

describe('the rehearsal company', () => {
  it('is created once, with the team of the company that asks', async () => {
    const { service } = rehearsing;
    const owner = await signUp(service);
    const grace = await colleague(service, owner, 'Owner');
    const open = (person: Person, mode: 'sandbox' | 'live') =>
      person.in('POST', '/dashboard/rehearsal_company', {}, { company: companyOf(person, mode) });
    const created = await open(owner, 'sandbox');
    assert.equal(created.status, 200, created.text);
    for (const reply of [await open(grace, 'sandbox'), await open(owner, 'sandbox')]) {
      assert.equal(reply.body.id, created.body.id, reply.text);
    }
    // Grace is no member of the live company.
    assert.equal((await open(owner, 'live')).body.id, created.body.id);
    for (const person of [owner, grace]) {
      const { body } = await person.call('GET', '/dashboard/session');
      const found = body.companies.find(({ mode }: { mode: string }) => mode === 'rehearsal');
      assert.deepEqual([found?.name, found?.role.name], ['Engines (rehearsal)', 'Owner']);
    }
    const stranger = await signUp(service);
    const foreign = await stranger.in('GET', '/v1/orders', undefined, { company: created.body.id });
    assert.ok(foreign.status >= 400, foreign.text);
  });

  it('is not created by a member who may not change the company, or while the account moves', async () => {
    const { service } = rehearsing;
    const owner = await signUp(service);
    const admin = await colleague(service, owner, 'Admin');
    assertRefused(await admin.in('POST', '/dashboard/rehearsal_company', {}), 403, 'insufficient_permissions');
    const company = companyOf(owner, 'sandbox');
    await service.shards.control.query(
      `INSERT INTO company_shards (company_id, shard, moving_to, moving_since) VALUES ($1, $2, 'b', now())
       ON CONFLICT (company_id) DO UPDATE SET moving_to = 'b', moving_since = now()`,
      [company, firstShard],
    );
    const refused = await owner.in('POST', '/dashboard/rehearsal_company', {});
    await service.shards.control.query(
      'UPDATE company_shards SET moving_to = NULL, moving_since = NULL WHERE company_id = $1',
      [company],
    );
    assertRefused(refused, 409, 'resource_in_use');
  });

  it('moves with the other companies of its account', async () => {
    const { service, company } = rehearsing;
    const mover = { shards: service.shards } as unknown as Parameters<typeof findAccount>[0];
    const { companyIds } = await findAccount(mover, company);
    const rows = await service.db.query<{ mode: string }>('SELECT mode FROM companies WHERE id = ANY($1)', [
      companyIds,
    ]);
    assert.deepEqual(rows.map(({ mode }) => mode).toSorted(), ['live', 'rehearsal', 'sandbox']);
  });

  it('has keys of its own form, whose objects are not live, and no helpers of the sandbox', async () => {
    const { service, owner, company } = rehearsing;
    const created = await owner.in('POST', '/dashboard/api_keys', { name: 'Key', kind: 'secret' }, { company });
    const { key } = created.body;
    assert.match(key, /^svc_rehearsal_sk_/, created.text);
    const customer = await service.call('POST', '/v1/customers', {
      key,
      body: { email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Byron', phone: '+12025550100' },
    });
    assert.equal(customer.status, 201, customer.text);
    const clock = await service.call('POST', '/v1/sandbox/clock/advance', { key, body: { by: { days: 1 } } });
    assertRefused(clock, 403, 'insufficient_permissions');
    assert.match(clock.body.error.message, /sandbox key/);
    const filled = await owner.in('POST', '/dashboard/sample_data/fill', undefined, { company });
    assertRefused(filled, 403, 'insufficient_permissions');
    const events = await service.call('GET', '/v1/events', { key });
    assert.deepEqual(new Set(events.body.data.map((event: { livemode: boolean }) => event.livemode)), new Set([false]));
  });

  it('refuses real card numbers before they are stored or sent', async () => {
    const { service, owner, company } = rehearsing;
    const created = await owner.in('POST', '/dashboard/api_keys', { name: 'Page', kind: 'publishable' }, { company });
    const tokenOf = (number: string) =>
      service.call('POST', '/v1/card_tokens', { key: created.body.key, body: { card: { ...testCard, number } } });
    const [{ count } = { count: -1 }] = await service.vaultDb.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM vault.cards WHERE company_id = $1',
      [company],
    );
    // Valid by its digits, and in no published list.
    const real = '4539578763621486';
    assert.ok(!isPublished(real));
    const refused = await tokenOf(real);
    assertRefused(refused, 400, 'validation_error');
    assert.match(refused.text, /publishes for tests.*real cards/);
    assert.ok(!refused.text.includes(real));
    const store = { companyId: company, cardId: randomUUID(), mode: 'rehearsal' } as const;
    await assert.rejects(service.vault.store({ ...store, number: rehearsing.cardNumber(real) }), /no real card/);
    const rows = await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE company_id = $1', [company]);
    assert.equal(rows.length, count, 'nothing was stored');
    assert.equal((await tokenOf('4242424242424242')).status, 201);
  });

  it('takes test accounts only, and the live company none of them', async () => {
    const { service, owner, company, accounts } = rehearsing;
    const live = companyOf(owner, 'live');
    const connect = (kind: string, configuration: object, at: string) =>
      owner.in('POST', '/dashboard/processors', { kind, configuration }, { company: at });
    const other = await signUp(service);
    const elsewhere = await other.in('POST', '/dashboard/processors', { kind: 'stripe', configuration: {} });
    assertRefused(elsewhere, 400, 'invalid_request');
    for (const kind of ['stripe', 'nmi', 'adyen'] as const) {
      const inLive = await connect(kind, testConfiguration(accounts, kind), live);
      assertRefused(inLive, 400, 'invalid_request');
      assert.match(inLive.body.error.message, /credentials of the test mode/, kind);
    }
    const { url } = accounts.adyen;
    const adyen = { ...testConfiguration(accounts, 'adyen'), api_url: `${url}/checkout/v72` };
    const refused = await connect('adyen', adyen, company);
    assertRefused(refused, 400, 'invalid_request');
    assert.match(refused.body.error.message, /live account/);
  });
});

describe('a rehearsal', () => {
  for (const kind of accountKinds) {
    it(`of ${kind} makes every step at the test account, and is kept`, async () => {
      const { rehearse, owner, company } = rehearsing;
      // The simulated acquirer sends no notices by itself.
      const isQuiet = kind === 'acquirer';
      const { connectionId, rehearsal } = await rehearse(kind, { notified: !isQuiet });
      const wrong = rehearsal.steps.filter(
        ({ result, step }) => result === 'wrong' && !(isQuiet && step === 'notices'),
      );
      assert.deepEqual([rehearsal.state, wrong], [isQuiet ? 'failed' : 'passed', []]);
      const skipped = rehearsal.steps.flatMap(({ step, result }) => (result === 'skipped' ? [step] : []));
      const noDispute = kind === 'stripe' ? [] : ['dispute'];
      const noSetting = kind === 'adyen' ? [] : ['network_reference'];
      assert.deepEqual(skipped, [...noSetting, ...noDispute]);
      const text = JSON.stringify(rehearsal);
      for (const number of testEnvironmentOf(kind).numbers) assert.ok(!text.includes(number), 'no card number');
      const listed = await owner.in('GET', '/dashboard/rehearsals', undefined, { company });
      assert.equal(
        listed.body.data.find((one: { connection_id: string }) => one.connection_id === connectionId).state,
        rehearsal.state,
      );
    });
  }

  it('sends the same payment once, although the process died before its result was kept', async () => {
    const { service, begin, turn, connect, accounts } = rehearsing;
    const connectionId = await connect('stripe');
    const { id } = await begin(connectionId);
    while ((await turn(id)).steps.length < 2);
    const [kept] = await service.db.query<{ steps: object; made: object }>(
      'SELECT steps, made FROM rehearsals WHERE id = $1',
      [id],
    );
    const charges = async (): Promise<number> => {
      const { operations } = await callsTo(accounts.stripe.url, accounts.stripe.secret)('GET', '/journal');
      return operations.filter((one: { kind: string }) => one.kind === 'charge').length;
    };
    const earlier = await charges();
    assert.equal((await turn(id)).steps.length, 3);
    assert.equal(await charges(), earlier + 1);
    await service.db.query('UPDATE rehearsals SET steps = $2, made = $3, leased_until = now() WHERE id = $1', [
      id,
      JSON.stringify(kept?.steps),
      JSON.stringify(kept?.made),
    ]);
    const again = await turn(id);
    assert.equal(again.steps[2]?.result, 'right', JSON.stringify(again.steps[2]));
    assert.equal(await charges(), earlier + 1, 'it was not charged again');
    await service.db.query(`UPDATE rehearsals SET state = 'failed', ended_at = now() WHERE id = $1`, [id]);
  });

  it('names what is wrong with an account that nothing was arranged for', async () => {
    const { rehearse, accounts } = rehearsing;
    await accounts.adyen.control({ requires_cvc: true, network_references: false, notice_url: null });
    const { rehearsal } = await rehearse('adyen', { notified: false });
    assert.equal(rehearsal.state, 'failed');
    const wrong = new Map(rehearsal.steps.map((one) => [one.step, one]));
    for (const step of ['equal_amount', 'network_reference', 'notices'] as const) {
      const found = wrong.get(step);
      assert.equal(found?.result, 'wrong', JSON.stringify(rehearsal.steps));
      assert.ok((found.advice ?? '').length > 20, step);
    }
  });

  it('ends at the first step if the account became a live one', async () => {
    const { connect, begin, turn, accounts } = rehearsing;
    await accounts.nmi.control({ test_mode: true });
    const connectionId = await connect('nmi');
    await accounts.nmi.control({ test_mode: false });
    const { id } = await begin(connectionId);
    const ended = await turn(id);
    await accounts.nmi.control({ test_mode: true });
    assert.deepEqual([ended.state, ended.steps.length], ['failed', 1]);
    assert.match(ended.steps[0]?.answered ?? '', /live account/);
  });

  it('is asked for before the first live payment, and not in another company', async () => {
    const { service, owner, company, rehearse } = rehearsing;
    await rehearse('stripe');
    const steps = async (person: Person) => {
      const { body } = await person.in('GET', '/dashboard/going_live', undefined, {
        company: companyOf(person, 'live'),
      });
      return body.steps.find(({ step }: { step: string }) => step === 'rehearsal');
    };
    const beginner = await signUp(service);
    assert.deepEqual(await steps(beginner), { step: 'rehearsal', is_done: false });
    assert.deepEqual(await steps(owner), { step: 'rehearsal', is_done: true });
    const [connection] = (await owner.in('GET', '/dashboard/processors', undefined, { company })).body.connections;
    const elsewhere = await beginner.in('POST', `/dashboard/processors/${connection.id}/rehearse`, {});
    assertRefused(elsewhere, 404, 'resource_not_found');
  });

  it('leaves nothing that doctor objects to', async () => {
    const findings = (await examine(rehearsing.service.db)).filter(({ count }) => count > 0);
    assert.deepEqual(
      findings.map(({ check, examples }) => [check, examples]),
      [],
    );
  });
});
