import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import type { LiveKind } from '../../../tests/support/live-processors.ts';
import { order } from '../../../tests/support/orders.ts';
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
  ['stripe', 'refuse:live_charges', /^Stripe refuses payments of the account, without a code\.$/],
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
