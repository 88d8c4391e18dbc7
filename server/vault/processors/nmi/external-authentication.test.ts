import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { inspect } from 'node:util';
import { chargeOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { external, presence } from '../conformance-customers.ts';
import type { Processor } from '../processor.ts';
import { nmiProcessor } from './adapter.ts';
import { saleFields } from './requests.ts';

/** NMI leads no customer to the bank. It takes what a 3DS server of the merchant has found. */

const card = { number: new CardNumber('4111111111111111'), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
const key = 'aSecurityKeyOfNmi00000000';
let nmi: Simulator;
let processor: Processor;
const inTime = () => ({ validUntilMs: Date.now() + 15 * minuteMs });

before(async () => {
  nmi = await startSimulator('nmi', key);
  processor = nmiProcessor({
    ...{ url: nmi.url, securityKey: new Secret(key), currencies: [], timeoutMs: 5_000 },
    sale: { duplicateSeconds: 0 },
  });
});
after(() => nmi.stop());

it('passes the values on, with sales and authorizations, and keeps none of them', async () => {
  for (const authorizesOnly of [false, true]) {
    const found = await processor.charge({
      ...chargeOf(card, { authentication: external, authorizesOnly }),
      ...inTime(),
    });
    assert.equal(found.outcome, 'approved', inspect(found));
  }
  assert.ok(!(await nmi.traces()).includes(external.cavv));
});

it('names the kind of the authentication by its indicator', () => {
  const choices = { duplicateSeconds: 0 };
  for (const [eci, kind] of Object.entries({
    '05': 'verified',
    '02': 'verified',
    '06': 'attempted',
    '01': 'attempted',
  })) {
    const fields = saleFields(chargeOf(card, { authentication: { ...external, eci } }), choices);
    assert.deepEqual(
      [fields.cardholder_auth, fields.cavv, fields.eci, fields.three_ds_version, fields.directory_server_id],
      [kind, external.cavv, eci, '2.2.0', external.directoryServerId],
    );
  }
  const without = saleFields(chargeOf(card, { presence }), choices);
  assert.ok(!Object.keys(without).some((name) => /cavv|eci|three_ds|directory|cardholder/.test(name)));
});

it('is refused with values of another form', async () => {
  for (const wrong of [{ cavv: 'c2hvcnQ=' }, { directoryServerId: 'none' }]) {
    const authentication = { ...external, ...wrong };
    const found = await processor.charge({ ...chargeOf(card, { authentication }), ...inTime() });
    assert.equal(found.outcome, 'declined', inspect(found));
  }
});

it('asks no customer, who could not be led to the bank', async () => {
  assert.equal(processor.resume, undefined);
  const found = await processor.charge({ ...chargeOf(card, { presence }), ...inTime() });
  assert.equal(found.outcome, 'approved', inspect(found));
});
