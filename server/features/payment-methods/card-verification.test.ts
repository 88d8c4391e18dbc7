import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Person } from '../../../tests/support/dashboard.ts';
import { assertRefused, createProduct, order } from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';
import { Secret } from '../../platform/secret.ts';
import {
  liveConfiguration,
  type LiveKind,
  liveKinds,
  type LiveProcessors,
  liveSecrets,
} from '../../../tests/support/live-processors.ts';
import { type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { eventually } from '../../../tests/support/webhooks.ts';

/** A live company verifies new cards at its first processor. Who tests stolen cards must not learn the result. */

let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;

before(async () => {
  live = await startLiveService();
  ({ service, fakes } = live);
});
after(() => live.stop());

interface Merchant {
  readonly owner: Person;
  readonly companyId: string;
  readonly connection: string;
  readonly key: string;
  readonly pageKey: string;
}

async function openMerchant(kind: LiveKind): Promise<Merchant> {
  const { connections, company, ...merchant } = await live.connectMerchant(kind);
  const pageKey = await service.createKey(company, { kind: 'publishable' });
  return { ...merchant, connection: connections[0] ?? '', pageKey };
}

const cardWith = (cvc: string) => ({ number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc });

async function capture({ key }: Merchant, cvc = '999'): Promise<{ customerId: string; reply: Reply }> {
  const { id: customerId } = (await service.call('POST', '/v1/customers', { key, body: someCustomer() })).body;
  const body = { customer_id: customerId, card: cardWith(cvc) };
  return { customerId, reply: await service.call('POST', '/capture', { key, body }) };
}

/** What the vault knows about the newest card. */
async function verified({ companyId }: Merchant): Promise<Record<string, unknown> | null> {
  const [row] = await service.vaultDb.query<{ verification: Record<string, unknown> | null }>(
    'SELECT verification FROM vault.cards WHERE company_id = $1 ORDER BY id DESC LIMIT 1',
    [companyId],
  );
  return row?.verification ?? null;
}

for (const kind of liveKinds) {
  describe(`a new card of a company that is connected to ${kind}`, () => {
    it('is verified with its CVC, which shows on its charges and never in an answer', async () => {
      const merchant = await openMerchant(kind);
      const { key } = merchant;
      const { customerId, reply } = await capture(merchant);
      assert.equal(reply.status, 201, reply.text);
      const { outcome, cvv_result } = (await verified(merchant)) ?? {};
      assert.equal(outcome, 'verified');
      assert.doesNotMatch(reply.text, /avs|cvv|verif/);
      const shop = {
        customerId,
        paymentMethodId: reply.body.id,
        productId: await createProduct(service, 4900, { key }),
      };
      const paid = (await order(service, shop, {}, { key, idempotencyKey: randomUUID() })).body;
      const { body } = await service.call('GET', `/v1/transactions/${paid.transactions[0].id}`, { key });
      // NMI answers a charge with a letter of its own.
      if (kind !== 'nmi') assert.deepEqual([cvv_result, body.processor_response.cvv_result], ['M', 'M']);
    });

    it('is verified from a page only if the owner has turned it on', async () => {
      const merchant = await openMerchant(kind);
      const { owner, companyId, connection } = merchant;
      const create = async (): Promise<string[]> => {
        const body = { card: cardWith('999') };
        const reply = await service.call('POST', '/v1/card_tokens', { key: merchant.pageKey, body });
        assert.equal(reply.status, 201, reply.text);
        return Object.keys(reply.body).toSorted();
      };
      const answered = await create();
      assert.equal(await verified(merchant), null);
      const path = `/dashboard/processors/${connection}`;
      const on = await owner.in('PATCH', path, { verifies_cards: true }, { company: companyId });
      assert.equal(on.status, 200);
      assert.deepEqual(await create(), answered, 'the answer is the same');
      assert.equal((await verified(merchant))?.outcome, 'verified');
    });

    it('is stored without a verification while the processor refuses the key', async () => {
      const merchant = await openMerchant(kind);
      const { companyId, connection: id } = merchant;
      const configuration = new Secret(liveConfiguration(fakes, kind, `${liveSecrets[kind].slice(0, -1)}7`));
      await service.vault.connect({ companyId, id, kind, configuration, timeoutMs: 1_000 });
      assert.equal((await capture(merchant)).reply.status, 201);
      assert.equal(await verified(merchant), null, 'unknown is not declined');
    });
  });
}

/** What makes the processor refuse the account when it verifies a card. */
const refusals = {
  stripe: ['decline:testmode_charges_only', /testmode_charges_only/],
  nmi: ['decline:411', /Merchant account is inactive/],
  adyen: ['not_configured', /not supported|not configured|configuration/i],
} as const satisfies Record<LiveKind, readonly [string, RegExp]>;

for (const kind of liveKinds) {
  describe(`verification at ${kind}, which refuses it because of the account`, () => {
    const shownOf = async ({ owner, companyId, connection }: Merchant): Promise<Reply['body']> =>
      (await owner.in('GET', `/dashboard/processors/${connection}`, undefined, { company: companyId })).body;

    it('says so at the connection until a card is verified, and stores the card all the same', async () => {
      const merchant = await openMerchant(kind);
      const [fault, reason] = refusals[kind];
      await fakes[kind].control({ next: [fault] });
      assert.equal((await capture(merchant)).reply.status, 201);
      assert.equal(await verified(merchant), null, 'the card was not declined');
      await eventually('it is noted', async () => (await shownOf(merchant)).rejected_operation === 'verification');
      const { rejection, rejected_at, refused_at } = await shownOf(merchant);
      assert.match(rejection, reason);
      assert.deepEqual([typeof rejected_at, refused_at], ['string', null]);
      assert.equal((await capture(merchant)).reply.status, 201);
      await eventually('it has ended', async () => (await shownOf(merchant)).rejected_operation === null);
    });

    it('notes nothing about a card that the bank declines', async () => {
      const merchant = await openMerchant(kind);
      await fakes[kind].control({
        next: [{ stripe: 'decline:generic_decline', nmi: 'decline:200', adyen: 'decline:2' }[kind]],
      });
      assert.equal((await capture(merchant)).reply.status, 201);
      assert.equal((await verified(merchant))?.outcome, 'declined');
      assert.equal((await shownOf(merchant)).rejected_operation, null);
    });

    it('shows refused credentials if the key is wrong', async () => {
      const merchant = await openMerchant(kind);
      const { companyId, connection: id } = merchant;
      const store = async (key: string): Promise<void> => {
        const configuration = new Secret(liveConfiguration(fakes, kind, key));
        await service.vault.connect({ companyId, id, kind, configuration, timeoutMs: 1_000 });
      };
      await store(`${liveSecrets[kind].slice(0, -1)}7`);
      await capture(merchant);
      await eventually('it is noted', async () => (await shownOf(merchant)).refused_at !== null);
      await store(liveSecrets[kind]);
      await capture(merchant);
      await eventually('it has ended', async () => (await shownOf(merchant)).refused_at === null);
      assert.equal((await shownOf(merchant)).rejected_operation, null);
    });
  });
}

describe('turning verification on, and copying from the sandbox', () => {
  it('require a confirmed password', async () => {
    const { owner, companyId, connection } = await openMerchant('stripe');
    await service.control.query(`UPDATE sessions SET stepped_up_at = stepped_up_at - $1 * interval '1 min'`, [
      limits.stepUpMinutes + 1,
    ]);
    const inLive = (method: string, path: string, body: object): Promise<Reply> =>
      owner.in(method, path, body, { company: companyId });
    assertRefused(
      await inLive('PATCH', `/dashboard/processors/${connection}`, { verifies_cards: true }),
      403,
      'step_up_required',
    );
    assertRefused(
      await inLive('POST', '/dashboard/copy_from_sandbox', { include: ['products'] }),
      403,
      'step_up_required',
    );
  });
});
