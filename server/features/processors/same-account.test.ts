import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import {
  liveConfiguration,
  liveKinds,
  type LiveProcessors,
  liveSecrets,
} from '../../../tests/support/live-processors.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';

/** An account at a processor is connected once: a second connection would get the notices of the first. */

const acquirer = 'https://acquirer.example/';
let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;
let owner: Person;

before(async () => {
  live = await startLiveService({ settings: { SVC_ACQUIRERS: acquirer } });
  ({ service, fakes } = live);
});
after(() => live.stop());
beforeEach(async () => {
  owner = await signUp(service);
});

const ask = (method: string, path: string, body?: object): Promise<Reply> =>
  owner.in(method, `/dashboard/processors${path}`, body, { company: companyOf(owner, 'live') });

const kinds = [...liveKinds, 'acquirer'] as const;
const configurationOf = (kind: (typeof kinds)[number]): Readonly<Record<string, string>> =>
  kind === 'acquirer' ? { url: acquirer, secret: 'any-secret' } : liveConfiguration(fakes, kind, liveSecrets[kind]);

async function stored(): Promise<number> {
  const found = await service.vaultDb.query('SELECT 1 FROM vault.connections WHERE company_id = $1', [
    companyOf(owner, 'live'),
  ]);
  return found.length;
}

for (const kind of kinds) {
  describe(`an account at ${kind}`, () => {
    const connect = (name: string): Promise<Reply> =>
      ask('POST', '', { kind, name, configuration: configurationOf(kind) });

    it('is connected once, and the error names its connection', async () => {
      const first = await connect('Main');
      assert.equal(first.status, 201, first.text);
      const second = await connect('Second');
      assertRefused(second, 409, 'resource_already_exists', 'configuration');
      const { message } = second.body.error;
      assert.ok(message.includes(`already connected as “Main” (${first.body.id})`), message);
      assert.equal(await stored(), 1, 'the vault has no credentials of the second one');
      const rotated = await ask('PATCH', `/${first.body.id}`, { configuration: configurationOf(kind) });
      assert.equal(rotated.status, 200, rotated.text);
    });

    it('is reconnected, or connected again after its credentials were removed', async () => {
      const { id } = (await connect('Main')).body;
      await ask('POST', `/${id}/disconnect`, {});
      const refused = await connect('Second');
      assertRefused(refused, 409, 'resource_already_exists');
      assert.match(refused.body.error.message, /“Main”.* which is disconnected\. Reconnect it instead/);
      assert.equal((await ask('POST', `/${id}/reconnect`, {})).status, 200);
      await ask('POST', `/${id}/disconnect`, {});
      assert.equal((await ask('DELETE', `/${id}`)).body.status, 'removed');
      assert.equal((await connect('Second')).status, 201);
    });

    it('can be connected by another company', async () => {
      assert.equal((await connect('Main')).status, 201);
      owner = await signUp(service);
      assert.equal((await connect('Main')).status, 201);
    });
  });
}

describe('an account of which the connection was made', () => {
  const connect = (): Promise<Reply> => ask('POST', '', { kind: 'stripe', configuration: configurationOf('stripe') });

  it('at the same time is connected once', async () => {
    const replies = await Promise.all([connect(), connect(), connect()]);
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [201, 409, 409],
    );
  });

  it('before accounts were recorded is recognized', async () => {
    const { id } = (await connect()).body;
    await service.db.query('UPDATE processor_connections SET account_id = NULL WHERE id = $1', [id]);
    assertRefused(await connect(), 409, 'resource_already_exists');
  });
});
