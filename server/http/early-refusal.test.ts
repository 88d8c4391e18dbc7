import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import type { AdmissionControl } from '../platform/admission-control.ts';
import { createEarlyRefusal } from './early-refusal.ts';

const full = new Set<string>();
let refused = 0;
const admission: AdmissionControl = {
  enter: () => assert.fail('nothing enters'),
  leave: () => assert.fail('nothing leaves'),
  isFull: (flow) => full.has(flow),
  stats: () => ({ running: 64, waiting: 10, limit: 64 }),
};
const early = createEarlyRefusal(
  { of: () => admission, stats: admission.stats },
  () => {
    refused += 1;
  },
  'https://pay.example.com',
);
const server = createServer((request, response) => {
  if (!early.refuse(request, response)) response.writeHead(200).end('served');
});

before(async () => {
  early.remember('Bearer known', { flow: 'company', shard: 'a' });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => full.clear());
after(() => server.close());

const call = (headers: Record<string, string>, body?: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/customers`, {
    method: 'POST',
    headers,
    ...(body && { body }),
  });

test('a request of a company that has no room is refused, with the error body of every other refusal', async () => {
  full.add('company');
  const answer = await call({ authorization: 'Bearer known' }, '{}');
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '1');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const { error } = (await answer.json()) as { error: Record<string, unknown> };
  assert.equal(error.code, 'service_unavailable');
  assert.equal(error.request_id, answer.headers.get('svc-request-id'));
  assert.equal(refused, 1);
});

test('a request of a company within its limit is accepted', async () => {
  assert.equal((await call({ authorization: 'Bearer known' })).status, 200);
});

test('a request with an unverified key is not rejected here, but by authentication', async () => {
  full.add('company');
  for (const authorization of ['Bearer unknown', 'Bearer known ', '']) {
    assert.equal((await call({ authorization }, '{}')).status, authorization === 'Bearer known ' ? 503 : 200);
  }
});

test('a large body is read and discarded within bounds', async () => {
  full.add('company');
  assert.equal((await call({ authorization: 'Bearer known' }, 'x'.repeat(20_000))).status, 200);
});
