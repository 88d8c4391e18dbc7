import { createHash } from 'node:crypto';
import { describe, it, after, before } from 'node:test';
import { newSigningSecret, signatureHeaders, signingKey } from '../../server/features/webhooks/signing.ts';
import { someInvoice } from '../support/invoices.ts';
import { startFlakyProxy } from '../support/flaky-proxy.ts';
import { type CustomerCreate, Svc } from '../../sdk/node/src/index.ts';
import { someCustomer, startTestService, type TestService } from '../support/service.ts';
import type { Driver } from './driver.ts';
import { play, scenarios, type Stage } from './scenarios.ts';

/** A service, a proxy that loses answers, keys of all kinds, and deliveries that the service has signed. */

interface StartedStage extends Stage {
  readonly service: TestService;
  stop(): Promise<void>;
}

async function startStage(): Promise<StartedStage> {
  const service = await startTestService();
  await someInvoice(service);
  const proxy = await startFlakyProxy(service.baseUrl);
  const svc = new Svc(service.key, { baseUrl: service.baseUrl });
  return {
    service,
    proxy,
    values: {
      url: proxy.url,
      direct: service.baseUrl,
      key: service.key,
      publishable: await service.createKey(service.company, { kind: 'publishable' }),
      readonly: await service.createKey(service.company, { permissions: ['customers:read'] }),
      wrong: `${service.key.slice(0, -8)}xxxxxxxx`,
      ...deliveries(),
    },
    async prepare({ customers, tag }) {
      const each = Array.from({ length: Number(customers) }, (_, index) =>
        someCustomer({ email: `${String(tag)}-${index}@example.com`, tags: [tag] }),
      );
      while (each.length > 0) {
        await Promise.all(each.splice(0, 10).map((body) => svc.customers.create(body as unknown as CustomerCreate)));
      }
    },
    async stop() {
      await proxy.stop();
      await service.stop();
    },
  };
}

/** What an endpoint receives, also of a type and with fields that no SDK knows yet. */
function deliveries(): Record<string, unknown> {
  const secret = newSigningSecret(createHash('sha256').update('one').digest());
  const other = newSigningSecret(createHash('sha256').update('two').digest());
  const nowSeconds = 1_770_802_200;
  const event = {
    id: 'evt_019c4c214a207e138d4e8f706b5c4d3e',
    type: 'order.succeeded',
    created_at: '2026-02-11T09:30:00.020Z',
    api_version: '2026-02-11',
    livemode: false,
    sequence: 2,
    request_id: null,
    data: {
      object: { id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', status: 'succeeded', total: 4900, name: 'Grüße 茶' },
    },
  };
  const signed = (body: string, secrets: readonly string[]): Record<string, unknown> => {
    const keys = secrets.map((one) => signingKey(one));
    const headers = signatureHeaders(keys, { eventId: event.id, timestampSeconds: nowSeconds, body });
    const { 'SVC-Signature': _, ...standardOnly } = headers;
    return { body, headers, standard_only: standardOnly };
  };
  return {
    secret,
    other,
    now: nowSeconds,
    event,
    delivery: signed(JSON.stringify(event), [secret]),
    rotated: signed(JSON.stringify(event), [other, secret]),
    unknown_event: signed(JSON.stringify({ ...event, type: 'tea.brewed', data: { object: { cups: 3 } }, more: 1 }), [
      secret,
    ]),
    unknown_values: signed(
      JSON.stringify({ ...event, data: { object: { ...event.data.object, status: 'brewing', cups: [1] } }, more: {} }),
      [secret],
    ),
  };
}

/** Declares one test for each scenario. `only` limits them to those that are quick. */
export function playAll(start: () => Promise<Driver>, only: (name: string) => boolean = () => true): void {
  describe('the scenarios of all SDKs', () => {
    let stage: StartedStage;
    let driver: Driver;
    before(async () => {
      [stage, driver] = await Promise.all([startStage(), start()]);
    });
    after(async () => {
      await driver?.stop();
      await stage?.stop();
    });
    for (const scenario of scenarios.filter(({ name }) => only(name))) {
      it(scenario.name, () => play(scenario, driver, stage));
    }
  });
}
