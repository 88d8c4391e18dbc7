import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Person, signUp } from '../../../tests/support/dashboard.ts';
import { startReceiver } from '../../../tests/support/receiver.ts';
import { someCustomer, type TestService } from '../../../tests/support/service.ts';
import { dispatchFor, eventually, startWebhookService } from '../../../tests/support/webhooks.ts';
import type { Dispatcher } from './dispatcher.ts';

/** What the dashboard shows of an endpoint whose receiver fails, and how everything is sent again. */

let service: TestService;
let dispatcher: Dispatcher;
let owner: Person;

before(async () => {
  service = await startWebhookService();
  dispatcher = dispatchFor(service);
  owner = await signUp(service);
});
after(async () => {
  await dispatcher.stop();
  await service.stop();
});

async function done(method: string, path: string, body?: unknown): Promise<Record<string, any>> {
  const reply = await owner.in(method, path, body);
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
}

describe('an endpoint that fails', () => {
  it('shows its failures with the answers, and gets everything again at once', async (t) => {
    const failing = await startReceiver(503);
    t.after(() => failing.stop());
    const { id } = await done('POST', '/v1/webhook_endpoints', { url: failing.url, enabled_events: ['customer.*'] });
    const path = `/dashboard/webhook_endpoints/${id}`;
    for (let made = 0; made < 3; made += 1) await done('POST', '/v1/customers', someCustomer());
    const health = await eventually('every event was tried', async () => {
      const found = await done('GET', `${path}/health`);
      return found.attempts === 3 && found;
    });
    assert.deepEqual([health.failed_attempts, health.failed_events, health.last_success_at], [3, 0, null]);

    const [event] = (await done('GET', `/v1/webhook_endpoints/${id}/events`)).data;
    const { data: attempts } = await done('GET', `${path}/events/${event.id}/attempts`);
    assert.deepEqual(
      attempts.map((one: Record<string, unknown>) => [one.event_id, one.attempt, one.http_status, one.status]),
      [[event.id, 1, 503, 'failed']],
    );

    const failingSince = async (age: string): Promise<string | null> => {
      await service.db.query(`UPDATE webhook_endpoints SET failing_since = now() - $2::interval WHERE id = $1`, [
        id,
        age,
      ]);
      return (await done('GET', `${path}/health`)).failing_since;
    };
    assert.deepEqual([health.failing_since, await failingSince('14 minutes')], [null, null]);
    assert.ok(await failingSince('16 minutes'));

    // The last retry was in vain.
    await service.db.query(
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE endpoint_id = $1`,
      [id],
    );
    const { failed_events, first_failed_at } = await done('GET', `${path}/health`);
    assert.equal(failed_events, 3);

    const working = await startReceiver();
    t.after(() => working.stop());
    await done('PATCH', `/v1/webhook_endpoints/${id}`, { url: working.url, status: 'disabled' });
    const refused = await owner.in('POST', `${path}/resend_failed`, { since: first_failed_at });
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'id'], refused.text);
    await done('PATCH', `/v1/webhook_endpoints/${id}`, { status: 'enabled' });
    const later = new Date(Date.parse(first_failed_at) + 3_600_000).toISOString();
    assert.deepEqual(await done('POST', `${path}/resend_failed`, { since: later }), { resent: 0 });
    assert.deepEqual(await done('POST', `${path}/resend_failed`, { since: first_failed_at }), { resent: 3 });
    await eventually('every event is delivered', async () => {
      const { last_success_at, failed_events: left } = await done('GET', `${path}/health`);
      return last_success_at !== null && left === 0 && working.received.length === 3;
    });
    const { data: all } = await done('GET', `${path}/events/${event.id}/attempts`);
    assert.deepEqual(
      all.map((one: Record<string, unknown>) => one.http_status),
      [200, 503],
    );
    // Many later attempts for other events do not hide them.
    await service.db.query(
      `INSERT INTO webhook_delivery_logs (company_id, endpoint_id, id, event_id, event_type, attempt, status, duration_ms,
         request_headers)
       SELECT company_id, endpoint_id, (substr(id::text, 1, 24) || to_hex(281474976690000 + n))::uuid, uuidv7(), event_type,
         1, 'success', 1, '{}'
       FROM (SELECT * FROM webhook_delivery_logs WHERE endpoint_id = $1 ORDER BY id DESC LIMIT 1) l,
         generate_series(1, 12000) n`,
      [id],
    );
    assert.deepEqual(await done('GET', `${path}/events/${event.id}/attempts`), { data: all });
  });
});
