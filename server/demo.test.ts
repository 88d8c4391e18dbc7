import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPerson } from '../tests/support/dashboard.ts';
import { startTestService } from '../tests/support/service.ts';
import { ensureDemo } from './demo.ts';
import { Secret } from './platform/secret.ts';
import { originalKeys } from './platform/service-keys.ts';

test('the login of the demo company works, also where its data is from before there was a dashboard', async () => {
  const service = await startTestService();
  try {
    const { db, control, shards, clock, config, baseUrl } = service;
    const dependencies = {
      shards,
      clock,
      baseUrl,
      dataDir: config.dataDir,
      keys: originalKeys(new Secret(Buffer.alloc(32, 9))),
    };
    const signIn = async ({ email, password }: { email: string; password: string }): Promise<string[]> => {
      const reply = await newPerson(service).call('POST', '/dashboard/session', { body: { email, password } });
      assert.equal(reply.status, 200, reply.text);
      return reply.body.companies.map(({ mode }: { mode: string }) => mode);
    };
    const demo = await ensureDemo(dependencies);
    assert.deepEqual(await signIn(demo), ['live', 'sandbox']);
    await control.query('DELETE FROM users');
    await db.query('DELETE FROM team_members');
    const again = await ensureDemo(dependencies);
    assert.deepEqual(again, demo);
    assert.deepEqual(await signIn(again), ['live', 'sandbox']);
  } finally {
    await service.stop();
  }
});
