import assert from 'node:assert/strict';
import { newEvent } from '../../server/features/events/service.ts';
import { insertEvents } from '../../server/features/events/queries.ts';
import {
  type Dispatcher,
  type DispatcherDependencies,
  type DispatcherTimes,
  startDispatcher,
} from '../../server/features/webhooks/dispatcher.ts';
import { newId } from '../../server/platform/ids.ts';
import { silentLog } from './silent-log.ts';
import { testAuthority } from './receiver.ts';
import { type CallOptions, type Reply, someCustomer, startTestService, type TestService } from './service.ts';
import type { Company } from '../../server/company.ts';

/** A service that may send webhooks to receivers on this machine. */

export function startWebhookService(): Promise<TestService> {
  return startTestService({ settings: { SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1' }, certificates: [testAuthority] });
}

export function dispatchFor(
  service: TestService,
  times: Partial<DispatcherTimes> = {},
  more: Partial<DispatcherDependencies> = {},
): Dispatcher {
  return startDispatcher({
    db: service.db,
    batchDb: service.db,
    clock: service.clock,
    log: silentLog,
    outbound: service.outbound,
    secretKey: service.webhookSecretKey,
    random: () => 0.5,
    times: { finishingMs: 200, ...times },
    ...more,
  });
}

/** One merchant and its use of webhook endpoints. */
export interface Subscriber {
  readonly key: string;
  readonly company: Company;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  subscribe(url: string, body?: Record<string, unknown>): Promise<Record<string, any>>;
  /** Creates an event; returns its id as the API shows it. */
  happen(): Promise<string>;
  delivery(endpointId: string, eventId: string): Promise<Record<string, any>>;
  logs(endpointId: string): Promise<Record<string, any>[]>;
  /** Advances the clock of the company, and wakes the dispatchers. */
  later(ms: number): Promise<void>;
}

export async function newSubscriber(service: TestService): Promise<Subscriber> {
  const { key, sandbox: company } = await service.createMerchant();
  const call: Subscriber['call'] = (method, path, options) => service.call(method, path, { key, ...options });
  return {
    key,
    company,
    call,
    async subscribe(url, body = {}) {
      const made = await call('POST', '/v1/webhook_endpoints', { body: { url, enabled_events: ['*'], ...body } });
      assert.equal(made.status, 201, made.text);
      return made.body;
    },
    async happen() {
      const made = await call('POST', '/v1/customers', { body: someCustomer() });
      assert.equal(made.status, 201, made.text);
      const events = await call('GET', `/v1/events?object_id=${made.body.id}`);
      return events.body.data[0].id;
    },
    async delivery(endpointId, eventId) {
      const list = await call('GET', `/v1/webhook_endpoints/${endpointId}/events?limit=100`);
      assert.equal(list.status, 200, list.text);
      return list.body.data.find(({ id }: { id: string }) => id === eventId);
    },
    async logs(endpointId) {
      const list = await call('GET', `/v1/webhook_endpoints/${endpointId}/delivery_logs?limit=100`);
      assert.equal(list.status, 200, list.text);
      return list.body.data;
    },
    async later(ms) {
      await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1', [
        company.id,
        Math.ceil(ms),
      ]);
      service.forgetAccess(company.id);
      await service.db.query(`SELECT pg_notify('webhooks_due', '')`);
    },
  };
}

/** Inserts many events at once, without their objects. */
export async function insertSomeEvents(service: TestService, companyId: string, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () => {
    const nowMs = Date.now();
    return newEvent(companyId, nowMs, 'customer.created', { id: newId(nowMs) }, 1, null);
  });
  await insertEvents(service.db, events);
  return events.map(({ id }) => `evt_${id.replaceAll('-', '')}`);
}

export async function eventually<Value>(
  what: string,
  look: () => Promise<Value | undefined | false>,
  patienceMs = 8_000,
): Promise<Value> {
  const deadlineMs = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    assert.ok(Date.now() < deadlineMs, `still not so: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
