import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { numberNow, withInvoices } from '../../../tests/support/invoices.ts';
import { assertInvalid, assertRefused } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import type { Permission } from '../../http/permissions.ts';
import { eventTypes } from '../events/service.ts';
import { isOfDocument } from './trigger-documents.ts';
import { permissionsToTrigger } from './trigger-permissions.ts';
import { triggerable } from './trigger.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const trigger = (body: Record<string, unknown>, options = {}): Promise<Reply> =>
  service.call('POST', '/v1/sandbox/events/trigger', { body, ...options });

describe('a trigger', () => {
  it('exists for every event', () => {
    assert.deepEqual(triggerable.toSorted(), eventTypes.toSorted());
  });

  for (const type of triggerable.filter((one) => !isOfDocument(one))) {
    it(`makes a real ${type}`, async () => {
      const needed: Permission[] = ['orders:write', ...permissionsToTrigger(type)];
      // Invitations need the permissions of the role besides.
      const permissions = type === 'team_member.invited' ? {} : { permissions: needed };
      const since = await lastEvent();
      const reply = await trigger({ type }, { key: await service.createKey(service.company, permissions) });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.type, type);
      const made = await service.db.query<{ kind: string }>(
        `SELECT DISTINCT split_part(type, '.', 1) AS kind FROM events WHERE inserted_at > $1`,
        [since],
      );
      const unnamed = made.filter(({ kind }) => !needed.includes(`${kind}s:write` as Permission));
      assert.deepEqual(unnamed, [], 'it makes what its permissions do not cover');
      const byItself = /^(webhook_endpoint|subscription\.(charged|past_due|recovered|failed|completed))/.test(type);
      assert.equal(reply.body.request_id, byItself ? null : requestId(reply));
      assert.deepEqual((await service.call('GET', `/v1/events/${reply.body.id}`)).body, reply.body);
      const { id, status } = reply.body.data.object;
      const [resource, name] = type.split('.');
      if (resource !== 'order') return;
      const { body: order } = await service.call('GET', `/v1/orders/${id}`);
      assert.equal(order.id, id);
      if (!['created', 'refund_failed', 'chargeback_dismissed'].includes(name ?? ''))
        assert.equal(order.status, status);
    });
  }

  it('makes a document where invoices are on, and says where they are off', async () => {
    const { sandbox } = await service.createMerchant();
    const key = await service.createKey(sandbox);
    const refused = await trigger({ type: 'invoice.created' }, { key });
    assert.equal(refused.body.error.code, 'invalid_state_transition', refused.text);
    assert.match(refused.body.error.message, /^Invoices are off/);
    await withInvoices(service, sandbox);
    for (const type of ['invoice.created', 'credit_note.created']) {
      const numbering = setInterval(() => void numberNow(service, sandbox.id), 100);
      const { status, body, text } = await trigger({ type }, { key }).finally(() => clearInterval(numbering));
      assert.equal(status, 200, text);
      const { object } = body.data;
      assert.deepEqual([body.type, `${object.kind}.created`, object.buyer], [type, type, null]);
      const { body: document } = await service.call('GET', `/v1/invoices/${object.id}`, { key });
      assert.deepEqual({ ...document, buyer: null, e_invoice_missing: null }, object);
    }
  });

  const lastEvent = async (): Promise<Date> => {
    const [row] = await service.db.query<{ at: Date }>('SELECT clock_timestamp() AS at');
    return row?.at ?? new Date(0);
  };
  const requestId = (reply: Reply): string | null => reply.headers.get('svc-request-id');

  it('takes the fields of the object it makes', async () => {
    const overrides = { first_name: 'Grace', metadata: { case: 7 } };
    const customer = await trigger({ type: 'customer.created', overrides });
    const { first_name, metadata } = customer.body.data.object;
    assert.deepEqual([first_name, metadata], ['Grace', { case: 7 }]);
    const updated = await trigger({ type: 'customer.updated', overrides: { last_name: 'Hopper' } });
    assert.deepEqual(updated.body.data.previous, { last_name: 'Sandbox' });
    assert.equal((await trigger({ type: 'customer.created', overrides: { color: 'red' } })).status, 400);
    const order = await trigger({ type: 'order.succeeded', overrides: { metadata: { case: 8 } } });
    assert.deepEqual(order.body.data.object.metadata, { case: 8 }, order.text);
  });

  it('can be pulled many times at once', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => trigger({ type: 'customer.created' })));
    assert.deepEqual(
      replies.map(({ status }) => status),
      replies.map(() => 200),
    );
  });

  it('is pulled once for an idempotency key', async () => {
    const idempotencyKey = randomUUID();
    const first = await trigger({ type: 'order.succeeded' }, { idempotencyKey });
    const again = await trigger({ type: 'order.succeeded' }, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [200, first.text]);
  });

  it('rejects unknown events and objects', async () => {
    assertInvalid(await trigger({ type: 'order.paid' }), 'type');
    assertInvalid(await trigger({ type: 'order.created', overrides: 5 }), 'overrides');
  });

  it('is for the sandbox', async () => {
    const { live } = await service.createMerchant();
    const key = await service.createKey(live);
    for (const type of triggerable) assertRefused(await trigger({ type }, { key }), 403, 'insufficient_permissions');
    assert.deepEqual((await service.call('GET', '/v1/events', { key })).body.data, []);
  });
});
