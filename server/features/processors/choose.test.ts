import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { type ChargeToPlace, chooseConnections } from './choose.ts';
import { type ConnectionHealth, watchConnections } from './health.ts';
import type { Rules } from './queries.ts';

const charge = (change: Partial<ChargeToPlace> = {}): ChargeToPlace => ({
  reference: randomUUID(),
  currency: 'usd',
  brand: 'visa',
  ...change,
});
const connection = (id: string, rules: Rules = {}) => ({ id, rules });
const always = (): boolean => true;
const figures = ({ calls, failures, isBroken }: ConnectionHealth) => ({ calls, failures, isBroken });

it('a charge tries the connections in their order', () => {
  assert.deepEqual(chooseConnections([connection('a'), connection('b')], charge(), always), ['a', 'b']);
});

it('a rule on currency or brand keeps other charges away', () => {
  const all = [
    connection('eur', { currencies: ['eur'] }),
    connection('amex', { brands: ['amex'] }),
    connection('rest'),
  ];
  assert.deepEqual(chooseConnections(all, charge(), always), ['rest']);
  assert.deepEqual(chooseConnections(all, charge({ currency: 'eur' }), always), ['eur', 'rest']);
  assert.deepEqual(chooseConnections(all, charge({ brand: 'amex' }), always), ['amex', 'rest']);
  assert.deepEqual(chooseConnections(all.slice(0, 1), charge(), always), [], 'nothing takes it');
});

it('a share divides the charges, the same charge always in the same way', () => {
  const all = [connection('a', { share: 30 }), connection('b')];
  const charges = Array.from({ length: 2_000 }, () => charge());
  const first = charges.map((one) => chooseConnections(all, one, always)[0]);
  const share = first.filter((id) => id === 'a').length / first.length;
  assert.ok(share > 0.25 && share < 0.35, String(share));
  assert.deepEqual(
    charges.map((one) => chooseConnections(all, one, always)[0]),
    first,
  );
  for (const one of charges.slice(0, 50))
    assert.equal(chooseConnections(all, one, always).length, 2, 'the other is next');
});

it('a connection that does not answer is tried last', () => {
  assert.deepEqual(
    chooseConnections([connection('a'), connection('b')], charge(), (id) => id !== 'a'),
    ['b', 'a'],
  );
});

it('a connection is broken when half of ten calls failed, and is tried again after 30 seconds', () => {
  let nowMs = 0;
  const health = watchConnections(() => nowMs);
  for (let call = 0; call < 9; call += 1) health.note('a', { outcome: 'unknown' });
  assert.equal(health.of('a').isBroken, false, 'nine calls say too little');
  health.note('a', { outcome: 'not_sent' });
  assert.deepEqual(figures(health.of('a')), { calls: 10, failures: 10, isBroken: true });
  assert.deepEqual(health.broken(), ['a']);
  nowMs += 30_000;
  assert.equal(health.admits('a', false), false, 'a charge that would not use it now is no attempt');
  assert.deepEqual(
    [health.admits('a', true), health.admits('a', true)],
    [true, false],
    'one charge, no other beside it',
  );
  assert.equal(health.of('a').isBroken, true, 'until it has answered');
  health.note('a', { outcome: 'unknown' });
  assert.deepEqual([health.of('a').isBroken, health.admits('a', true)], [true, false]);
  health.note('a', { outcome: 'approved' });
  assert.deepEqual([health.of('a').isBroken, health.admits('a', true)], [false, true], 'it answers again');
  nowMs += 300_000;
  assert.deepEqual(figures(health.of('a')), { calls: 0, failures: 0, isBroken: false });
});

it('declines, outages of the vault, unsupported currencies and lookups are no failures of a connection', () => {
  const health = watchConnections(() => 0);
  for (let call = 0; call < 20; call += 1) {
    health.note('a', { outcome: 'declined' });
    health.note('a', { outcome: 'unavailable' });
    health.note('a', { outcome: 'not_sent', failureCode: 'invalid_merchant_configuration' });
    health.note('a', { outcome: 'unknown', reason: 'the request may still arrive', isLookup: true });
  }
  assert.deepEqual(figures(health.of('a')), { calls: 20, failures: 0, isBroken: false });
});
