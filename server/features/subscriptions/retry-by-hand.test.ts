import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cards, created, everyDays, later, moveTo, openScene } from '../../../tests/support/billing.ts';
import { declinedOutcome, type Faults, retry, startFaultyService } from '../../../tests/support/orders.ts';
import type { TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';

let service: TestService;
let faults: Faults;
let stop: () => Promise<void>;
before(async () => {
  ({ service, faults, stop } = await startFaultyService());
});
after(() => stop());

it('a manual retry with a hard decline leaves the schedule of retries as it is', async () => {
  const at = await openScene(service, { billing_cycle: everyDays(30) }, cards.declinesAfterFirst);
  const { id, next_billing_at } = await created(service, at);
  await moveTo(service, at.key, later(next_billing_at, 3_600_000));
  const before = await readSubscription(service, id, at);
  assert.equal(before.next_retry_at, later(next_billing_at, 86_400_000));
  faults.charge = async () => ({
    ...(await declinedOutcome()),
    failureCode: 'lost_stolen_card',
    failureReason: 'Lost.',
  });
  const tried = await retry(service, before.latest_order_id, at);
  delete faults.charge;
  assert.deepEqual([tried.body.failure_code, tried.body.next_retry_at], ['lost_stolen_card', before.next_retry_at]);
  const now = await readSubscription(service, id, at);
  assert.deepEqual([now.status, now.next_retry_at, now.attempt_count], ['past_due', before.next_retry_at, 2]);
});
