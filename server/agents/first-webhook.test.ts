import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { webhooks } from '../../sdk/node/src/index.ts';
import { connectAgent, use } from '../../tests/support/agents.ts';
import { type Receiver, startReceiver } from '../../tests/support/receiver.ts';
import type { TestService } from '../../tests/support/service.ts';
import { dispatchFor, startWebhookService } from '../../tests/support/webhooks.ts';
import { usualPermissions } from '../http/permissions.ts';

/** Follows the steps of docs/agents.md through the official client: from nothing to a verified webhook in the sandbox. */

let service: TestService;
let receiver: Receiver;
before(async () => {
  [service, receiver] = await Promise.all([startWebhookService(), startReceiver()]);
});
after(async () => {
  await receiver.stop();
  await service.stop();
});

interface Step {
  readonly tool?: string;
  readonly arguments?: Record<string, unknown>;
  readonly request?: string;
  readonly body?: Record<string, unknown>;
}

function stepsOfGuide(): Step[] {
  const guide = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8');
  const [, section = ''] = /\n## A first webhook\n([\s\S]*?)\n## /.exec(guide) ?? [];
  return [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) =>
    JSON.parse(text.replace('https://shop.example.com/webhooks', receiver.url)),
  );
}

it('the steps of the guide lead from nothing to a verified webhook', async () => {
  const key = await service.createKey(service.company, { permissions: [...usualPermissions, 'agents:write'] });
  const agent = await connectAgent(service, key);
  const dispatcher = dispatchFor(service);
  const results: Record<string, any>[] = [];
  let secret = '';
  for (const step of stepsOfGuide()) {
    if (step.tool) {
      const result = await use(agent, step.tool, step.arguments);
      assert.equal(result.isError, false, `${step.tool}: ${JSON.stringify(result)}`);
      results.push(result);
      if (step.tool === 'trigger_event') await receiver.count(2, 20_000);
    } else {
      const [method = '', path = ''] = (step.request ?? '').split(' ');
      const reply = await service.call(method, path, { key, body: step.body, idempotencyKey: crypto.randomUUID() });
      assert.equal(reply.status, 201, reply.text);
      secret = reply.body.signing_secret;
    }
  }
  assert.equal(results.length, 5);
  assert.doesNotMatch(JSON.stringify(results), new RegExp(secret.replaceAll(/[+/]/g, '.')));
  const [, real] = receiver.received;
  const event = await webhooks.verify(real?.body ?? '', real?.headers ?? {}, secret);
  assert.equal(event.type, 'order.succeeded');
  await assert.rejects(webhooks.verify(`${real?.body} `, real?.headers ?? {}, secret));
  await dispatcher.stop();
  await agent.close();
});
