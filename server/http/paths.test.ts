import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { routes } from '../../tests/support/openapi.ts';
import { type Reply, startTestService, type TestService } from '../../tests/support/service.ts';
import { dashboardRoutes } from '../app.ts';
import type { Route } from './route.ts';
import { latestVersion } from './versions/versions.ts';

/** Every path with every method, and what a refusal says when nothing else is known of the request. */

let service: TestService;
let secure: TestService;
before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_CAPTURE: 'off' } });
  secure = await startTestService({ baseUrl: 'https://pay.example.com' });
});
after(async () => {
  await Promise.all([service.stop(), secure.stop()]);
});

const all: readonly Route[] = [...routes, ...dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0])];
const byPath = Map.groupBy(all, ({ path }) => path);
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const id = '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60';
const nothingHere = /This path does not exist/;

function allowedAt(path: Route['path']): string[] {
  const declared = byPath.get(path) ?? [];
  return [
    ...declared.map(({ method }) => method),
    ...(declared.some(({ method }) => method === 'GET') ? ['HEAD'] : []),
    ...(declared.some(({ publishable }) => publishable) ? ['OPTIONS'] : []),
  ].toSorted();
}

const ask = (method: string, path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  service.call(method, path, { key: null, headers });

describe('every path', () => {
  it('knows its own methods and answers 405 with Allow to the others', async () => {
    assert.ok(byPath.size > 60);
    for (const path of byPath.keys()) {
      const allowed = allowedAt(path);
      for (const method of methods) {
        const reply = await ask(method, path.replace(/:\w+/g, id));
        const name = `${method} ${path}: ${reply.text}`;
        if (allowed.includes(method)) {
          assert.ok(![404, 405].includes(reply.status), name);
          continue;
        }
        assert.deepEqual([reply.status, reply.body.error.code], [405, 'invalid_request'], name);
        assert.deepEqual((reply.headers.get('allow') ?? '').split(', ').toSorted(), allowed, name);
      }
    }
  });

  it('with a word beside an id is not taken for that id: validate is no coupon', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const reply = await service.call(method, '/v1/coupons/validate');
      assert.deepEqual([reply.status, reply.headers.get('allow')], [405, 'POST'], method);
    }
  });

  it('with an empty id is an unknown path', async () => {
    const withIds = [...byPath.keys()].filter((path) => path.includes(':'));
    assert.ok(withIds.length > 40);
    for (const path of withIds) {
      const names = path.match(/:\w+/g) ?? [];
      for (const empty of names) {
        const asked = path.replace(/:\w+/g, (name) => (name === empty ? '' : id));
        for (const { method } of byPath.get(path) ?? []) {
          const reply = await service.call(method, asked);
          assert.deepEqual([reply.status, reply.body.error.code], [404, 'resource_not_found'], `${method} ${asked}`);
          assert.match(reply.body.error.message, nothingHere, `${method} ${asked}`);
        }
      }
    }
  });

  it('with a slash at its end is an unknown path', async () => {
    for (const path of ['/v1/customers/', '/v1/customers/?limit=1', `/v1/customers/${id}/`, '/v1/orders//refund']) {
      assert.match((await service.call('GET', path)).body.error.message, nothingHere, path);
    }
  });
});

describe('a refusal', () => {
  const refusals: Record<string, () => Promise<Reply>> = {
    'without a key': () => ask('GET', '/v1/customers'),
    'with a wrong key': () => service.call('GET', '/v1/customers', { key: 'svc_test_sk_nonsense' }),
    'of an unknown path': () => ask('GET', '/v1/nothing'),
    'of a path beside the API': () => ask('GET', '/nothing'),
    'of a method': () => ask('PUT', '/v1/customers'),
    'of a body that is too large': () => service.call('POST', '/v1/customers', { raw: 'x'.repeat(1024 * 1024 + 1) }),
    'of a body that is not JSON': () => service.call('POST', '/v1/customers', { raw: '{' }),
    'of a path that is not one': () => ask('GET', '/v1/customers/%zz'),
    'of a version': () => service.call('GET', '/v1/customers', { headers: { 'svc-version': '2020-01-01' } }),
    'of an expectation': () => ask('POST', '/v1/nothing', { expect: 'the impossible' }),
  };
  for (const [what, refusal] of Object.entries(refusals)) {
    it(`${what} says which version it is of`, async () => {
      const reply = await refusal();
      assert.ok(reply.status >= 400 && reply.status < 500, String(reply.status));
      assert.equal(reply.headers.get('svc-version'), latestVersion);
    });
  }

  it('is of the version that was asked for, if there is one', async () => {
    const older = { 'svc-version': '2025-11-04' };
    for (const reply of [
      await ask('GET', '/v1/customers', older),
      await ask('GET', '/v1/nothing', older),
      await ask('PUT', '/v1/customers', older),
    ]) {
      assert.equal(reply.headers.get('svc-version'), '2025-11-04');
    }
    assert.equal((await ask('GET', '/v1/nothing', { 'svc-version': 'x' })).headers.get('svc-version'), latestVersion);
  });

  it('of a limit is of the version of the company', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_READ: '1/100' } });
    try {
      await limited.db.query(`UPDATE companies SET api_version = '2025-11-04' WHERE id = $1`, [limited.company.id]);
      await limited.call('GET', '/v1/customers');
      const refused = await limited.call('GET', '/v1/customers');
      assert.deepEqual([refused.status, refused.headers.get('svc-version')], [429, '2025-11-04']);
    } finally {
      await limited.stop();
    }
  });
});

/** A request written by hand: no client sends such a thing. */
function send(to: TestService, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(to.baseUrl);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  return new Promise((resolve, reject) => {
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('the Host header', () => {
  const line = 'GET /healthz HTTP/1.1';
  it('may be there once', async () => {
    assert.match(await send(service, [line, 'Host: a']), /^HTTP\/1\.1 200 /);
    for (const hosts of [
      ['Host: a', 'Host: b'],
      ['Host: a', 'Host: a'],
      ['Host: a', 'hOST: b'],
      ['Host:', 'Host: a'],
    ]) {
      const answer = await send(service, [line, ...hosts]);
      assert.match(answer, /^HTTP\/1\.1 400 /, hosts.join());
      assert.match(answer, /"code":"invalid_request","message":"Send exactly one Host header\."/);
    }
    assert.match(await send(service, ['GET /healthz HTTP/1.0', 'Host: a', 'Host: b']), /^HTTP\/1\.1 400 /);
  });

  it('is a name or an address, with or without a port', async () => {
    for (const host of ['pay.example.com', 'svc_api:8080', '127.0.0.1:1', '[::1]:8080', 'xn--bcher-kva.example:']) {
      assert.match(await send(service, [line, `Host: ${host}`]), /^HTTP\/1\.1 200 /, host);
    }
    for (const host of ['<x>', 'a b', 'a/b', 'a@b', 'a,b c', 'a:b', 'http://a', '[', 'a#', 'a?b', '"a"', 'a\\b']) {
      assert.match(await send(service, [line, `Host: ${host}`]), /^HTTP\/1\.1 400 .*malformed/s, host);
    }
  });

  it('must be there in HTTP/1.1', async () => {
    assert.match(await send(service, [line]), /^HTTP\/1\.1 400 .*Send a Host header/s);
    assert.match(await send(service, [line, 'Host:']), /^HTTP\/1\.1 400 .*Send a Host header/s);
    assert.match(await send(service, ['GET /healthz HTTP/1.0']), /^HTTP\/1\.1 200 /);
  });
});

describe('Strict-Transport-Security', () => {
  it('is sent with every answer where the address of the service is https', async () => {
    for (const path of ['/healthz', '/v1/customers', '/docs', '/nothing', '/dashboard/session']) {
      const answer = await fetch(secure.baseUrl + path);
      assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000', path);
    }
  });

  it('is not sent where it is http', async () => {
    const answer = await fetch(`${service.baseUrl}/healthz`);
    assert.equal(answer.headers.get('strict-transport-security'), null);
  });
});
