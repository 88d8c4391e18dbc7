import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import type { LiveKind } from '../../../tests/support/live-processors.ts';
import { order, refund } from '../../../tests/support/orders.ts';
import { readProbe } from '../../../tests/support/probes.ts';
import type { Reply } from '../../../tests/support/service.ts';
import { eventually } from '../../../tests/support/webhooks.ts';
import { countRefused } from './queries.ts';

/** A processor that refuses the account, and not the card: the merchant sees since when, and what to correct. */

let live: LiveService;
before(async () => {
  live = await startLiveService();
});
after(() => live.stop());

const place = ({ shop, key }: ConnectedMerchant): Promise<Reply> =>
  order(live.service, shop, {}, { key, idempotencyKey: randomUUID() });

/** The next charge at the processor has this outcome. */
const next = (kind: LiveKind, fault: string) => live.fakes[kind].control({ next: [fault] });

async function shownOf({ owner, companyId, connections }: ConnectedMerchant): Promise<Reply['body']> {
  const path = `/dashboard/processors/${connections[0]}`;
  return (await owner.in('GET', path, undefined, { company: companyId })).body;
}

async function attentionOf({ owner, companyId }: ConnectedMerchant): Promise<string[]> {
  const { body } = await owner.in('GET', '/dashboard/attention', undefined, { company: companyId });
  return body.data.map(({ kind }: Reply['body']) => kind);
}

const rejected = (merchant: ConnectedMerchant, reason: RegExp) =>
  eventually('the connection is rejected', async () => reason.test((await shownOf(merchant)).rejection ?? ''));

const refusals = [
  ['stripe', 'refuse:live_charges', /^Stripe refuses requests of the account, without a code\.$/],
  ['stripe', 'decline:testmode_charges_only', /testmode_charges_only/],
  ['nmi', 'decline:411', /Merchant account is inactive/],
] as const;

for (const [kind, fault, reason] of refusals) {
  it(`${kind} (${fault}) is passed over and named, until it approves a charge`, async () => {
    const merchant = await live.openMerchant(kind, kind === 'nmi' ? 'stripe' : 'nmi');
    await next(kind, fault);
    assert.equal((await place(merchant)).body.status, 'succeeded', 'at the other processor');
    await rejected(merchant, reason);
    const shown = await shownOf(merchant);
    assert.deepEqual([shown.refused_at, typeof shown.rejected_at], [null, 'string']);
    assert.equal(shown.rejected_operation, 'charge');
    assert.deepEqual(await attentionOf(merchant), ['processors_rejecting']);
    const named = (await examine(live.service.db)).find(({ check }) => check === 'rejected_account');
    assert.ok(named, 'the doctor names it');
    assert.equal((await countRefused(live.service.db)).rejected, 1);
    const { text } = await readProbe(live.service.baseUrl, '/metrics');
    assert.match(text, /^svc_processor_connections_rejected 1$/m);
    assert.equal((await place(merchant)).body.status, 'succeeded');
    await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
    const { rejected_at, rejection } = await shownOf(merchant);
    assert.deepEqual([rejected_at, rejection], [null, null]);
  });
}

/** What follows a charge, and how the processor is asked to do it. */
const followUps = {
  refund: async (merchant, { id }) =>
    refund(live.service, id, 100, { key: merchant.key, idempotencyKey: randomUUID() }),
  void: async ({ owner, companyId }, { id }) =>
    owner.in('POST', `/v1/orders/${id}/void`, {}, { company: companyId, idempotencyKey: randomUUID() }),
  capture: async ({ key }, { id }) =>
    live.service.call('POST', `/v1/orders/${id}/capture`, { body: {}, key, idempotencyKey: randomUUID() }),
} satisfies Record<string, (merchant: ConnectedMerchant, order: Reply['body']) => Promise<Reply>>;
type FollowUp = keyof typeof followUps;

const refusedFollowUps: readonly (readonly [LiveKind, FollowUp, string, RegExp])[] = [
  ['stripe', 'refund', 'decline:testmode_charges_only', /testmode_charges_only/],
  ['stripe', 'void', 'decline:testmode_charges_only', /testmode_charges_only/],
  ['stripe', 'capture', 'decline:testmode_charges_only', /testmode_charges_only/],
  ['nmi', 'refund', 'decline:411', /Merchant account is inactive/],
  ['nmi', 'void', 'decline:411', /Merchant account is inactive/],
  ['nmi', 'capture', 'decline:411', /Merchant account is inactive/],
  ['adyen', 'refund', 'no_role', /roles of the key/],
  ['adyen', 'void', 'no_role', /roles of the key/],
  ['adyen', 'capture', 'no_role', /roles of the key/],
];

const paid = async ({ shop, key }: ConnectedMerchant, isHeld: boolean): Promise<Reply['body']> => {
  const options = { key, idempotencyKey: randomUUID() };
  return (await order(live.service, shop, isHeld ? { capture: 'manual' } : {}, options)).body;
};

for (const [kind, operation, fault, reason] of refusedFollowUps) {
  it(`${kind} that refuses a ${operation} is named, until it approves one, and charges stay there`, async () => {
    const merchant = await live.openMerchant(kind);
    const isHeld = operation === 'capture';
    const made = await paid(merchant, isHeld);
    await next(kind, fault);
    await followUps[operation](merchant, made);
    await rejected(merchant, reason);
    const shown = await shownOf(merchant);
    assert.deepEqual(
      [shown.rejected_operation, shown.refused_at, typeof shown.rejected_at],
      [operation, null, 'string'],
    );
    assert.deepEqual(await attentionOf(merchant), ['processors_rejecting']);
    assert.ok((await examine(live.service.db)).some(({ check }) => check === 'rejected_operation'));
    const later = await paid(merchant, isHeld);
    await eventually('the charge is noted', async () => (await shownOf(merchant)).health.calls === 2);
    assert.equal((await shownOf(merchant)).rejected_operation, operation, 'an approved charge says nothing about it');
    assert.equal((await followUps[operation](merchant, later)).status, 200);
    await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
    const { rejected_at, rejection, rejected_operation } = await shownOf(merchant);
    assert.deepEqual([rejected_at, rejection, rejected_operation], [null, null, null]);
  });
}

describe('a rejected account', () => {
  it('stays so after a decline by a bank, with its first time and its last reason', async () => {
    const merchant = await live.openMerchant('stripe');
    await next('stripe', 'refuse:export');
    assert.equal((await place(merchant)).body.failure_code, 'invalid_merchant_configuration');
    await rejected(merchant, /without a code/);
    const { rejected_at: first } = await shownOf(merchant);
    await next('stripe', 'decline:insufficient_funds');
    assert.equal((await place(merchant)).body.failure_code, 'insufficient_funds');
    await next('stripe', 'decline:testmode_charges_only');
    assert.equal((await place(merchant)).body.failure_code, 'invalid_merchant_configuration');
    await rejected(merchant, /testmode_charges_only/);
    assert.equal((await shownOf(merchant)).rejected_at, first);
  });

  it('is not one whose card a bank declines', async () => {
    const merchant = await live.openMerchant('stripe');
    await next('stripe', 'decline:insufficient_funds');
    assert.equal((await place(merchant)).body.status, 'failed');
    await eventually('the call is noted', async () => (await shownOf(merchant)).health.calls === 1);
    assert.equal((await shownOf(merchant)).rejected_at, null);
  });

  it('shows refused charges before refused refunds, and since when each was refused', async () => {
    const merchant = await live.openMerchant('stripe');
    const [made, later] = [await paid(merchant, false), await paid(merchant, false)];
    await next('stripe', 'decline:testmode_charges_only');
    await followUps.refund(merchant, made);
    await rejected(merchant, /testmode_charges_only/);
    const ofRefund = await shownOf(merchant);
    await next('stripe', 'decline:request_blocked');
    await place(merchant);
    await rejected(merchant, /request_blocked/);
    const ofCharge = await shownOf(merchant);
    assert.equal(ofCharge.rejected_operation, 'charge');
    assert.ok(ofCharge.rejected_at > ofRefund.rejected_at);
    await next('stripe', 'decline:testmode_charges_only');
    await followUps.refund(merchant, later);
    await place(merchant);
    await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
  });

  it('whose refund is refused with a wrong key is one with refused credentials', async () => {
    const merchant = await live.openMerchant('stripe');
    const made = await paid(merchant, false);
    await next('stripe', 'revoke:refund');
    assert.equal((await followUps.refund(merchant, made)).status, 502);
    await eventually('it is refused', async () => (await shownOf(merchant)).refused_at !== null);
    assert.equal((await shownOf(merchant)).rejected_operation, null);
    await live.fakes.stripe.control({ next: [], revoked: false });
    assert.equal((await place(merchant)).body.status, 'succeeded');
    await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
  });

  it('of a key without a permission is one with refused credentials, and names the permission', async () => {
    const merchant = await live.openMerchant('stripe');
    await live.fakes.stripe.control({ lacks: ['rak_payment_intent_write'] });
    await place(merchant);
    await rejected(merchant, /lacks the permission rak_payment_intent_write/);
    assert.deepEqual(await attentionOf(merchant), ['processors_refusing']);
    await live.fakes.stripe.control({ lacks: [] });
    assert.equal((await place(merchant)).body.status, 'succeeded');
    await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
    assert.equal((await shownOf(merchant)).rejection, null);
  });
});
