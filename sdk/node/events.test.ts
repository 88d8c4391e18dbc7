import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventTypes } from '../../server/features/events/service.ts';
import { numberNow, withInvoices } from '../../tests/support/invoices.ts';
import { checkAgainstDocument } from '../../tests/support/openapi.ts';
import { recordedSdk } from '../../tests/support/sdk.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import type { EventType, Svc } from './src/index.ts';

/** Compares the object of every event type with the types of the SDK. */

let service: TestService;
let svc: Svc;
let numbering: NodeJS.Timeout;

before(async () => {
  service = await startTestService();
  svc = recordedSdk(service).svc;
  await withInvoices(service);
  numbering = setInterval(() => void numberNow(service, service.company.id), 100);
});
after(async () => {
  clearInterval(numbering);
  await service.stop();
});

/** A call that returns the object of the declared type. */
const shownBy: Readonly<Record<string, readonly [string, string, number]>> = {
  customer: ['GET', '/v1/customers/1', 200],
  payment_method: ['GET', '/v1/customers/1/payment_methods/1', 200],
  order: ['GET', '/v1/orders/1', 200],
  subscription: ['GET', '/v1/subscriptions/1', 200],
  checkout_session: ['GET', '/v1/checkout_sessions/1', 200],
  team_member: ['POST', '/v1/team_members', 201],
  invoice: ['GET', '/v1/invoices/1', 200],
  credit_note: ['GET', '/v1/invoices/1', 200],
  webhook_endpoint: ['GET', '/v1/webhook_endpoints/1', 200],
};

describe('the object of an event matches its type', () => {
  for (const type of eventTypes satisfies readonly EventType[]) {
    it(type, async () => {
      const event = await svc.sandbox.events.trigger({ type });
      assert.equal(event.type, type);
      const [method, path, status] = shownBy[type.split('.')[0] ?? ''] ?? assert.fail(`what shows ${type}?`);
      checkAgainstDocument(method, path, { status, headers: new Headers(), text: JSON.stringify(event.data.object) });
      const before = Object.keys(event.data.previous ?? {});
      assert.deepEqual(
        before.filter((name) => !(name in event.data.object)),
        [],
      );
    });
  }
});
