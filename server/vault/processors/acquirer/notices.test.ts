import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { Secret } from '../../../platform/secret.ts';
import type { Reception } from '../notices.ts';
import { type AcquirerNotice, receiveNotice, signNotice } from './notices.ts';

const secret = new Secret('secret of the acquirer');
const nowMs = Date.UTC(2026, 1, 11);

function receive(notice: unknown, signature?: string, atMs = nowMs): Reception {
  const body = Buffer.from(typeof notice === 'string' ? notice : JSON.stringify(notice));
  return receiveNotice(secret, {
    headers: { 'x-signature': signature ?? signNotice(secret, body, nowMs) },
    body,
    nowMs: atMs,
  });
}

const settled: AcquirerNotice = { id: 'n-1', type: 'charge.settled', at_ms: 1, reference: randomUUID() };
const dispute = { id: 'd-1', amount: 100, currency: 'usd' };

it('a signed notice is read', () => {
  const charge = { reference: settled.reference, transactionId: null };
  assert.deepEqual(receive(settled), {
    outcome: 'accepted',
    notices: [{ id: 'n-1', type: 'charge.settled', atMs: 1, about: { kind: 'settled', charge } }],
  });
});

it('each type has its meaning, and an unknown one has none', () => {
  const kinds = (
    ['charge.settled', 'charge.not_captured', 'refund.rejected', 'dispute.opened', 'payout.sent'] as const
  ).map((type) => {
    const reception = receive({ ...settled, type, dispute });
    assert.equal(reception.outcome, 'accepted');
    return reception.outcome === 'accepted' && reception.notices[0]?.about.kind;
  });
  assert.deepEqual(kinds, ['settled', 'not_captured', 'operation', 'dispute', 'other']);
});

it('a notice with a wrong, missing or stale signature is refused', () => {
  const body = JSON.stringify(settled);
  const other = signNotice(new Secret('another secret'), body, nowMs);
  assert.deepEqual(receive(settled, other), { outcome: 'refused', reason: 'the signature is wrong' });
  assert.equal(receive(settled, '').outcome, 'refused');
  const later = nowMs + 300_001;
  assert.deepEqual(receive(settled, signNotice(secret, body, nowMs), later), {
    outcome: 'refused',
    reason: 'the signature is older than 5 minutes',
  });
  assert.equal(receive({ ...settled, at_ms: 2 }, signNotice(secret, body, nowMs)).outcome, 'refused', 'another body');
});

it('signed content that is not a notice is refused, and nothing throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const reception = receive(text);
      assert.ok(reception.outcome === 'refused' || reception.notices.length === 1);
    }),
  );
});
