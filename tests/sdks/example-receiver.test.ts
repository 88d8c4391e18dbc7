import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Svc, webhooks } from '../../sdk/node/src/index.ts';
import { isCommand, run } from '../generators/world.ts';
import { freePort } from '../support/listen.ts';
import { startTestService } from '../support/service.ts';

/** The example in Go, from a copy of its folder, with the commands of its README. */

const example = fileURLToPath(new URL('../../examples/webhook-receiver/', import.meta.url));
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

if (await isCommand('go', 'version')) {
  test('the webhook receiver in Go starts from a clean folder, handles an event once and rejects forged ones', async () => {
    const service = await startTestService();
    const folder = await mkdtemp(join(tmpdir(), 'svc-receiver-'));
    await cp(example, folder, { recursive: true });
    const port = await freePort();
    const env = {
      SVC_URL: service.baseUrl,
      SVC_WEBHOOK_SECRET: secret,
      ADDRESS: `127.0.0.1:${port}`,
      GOPATH: join(folder, 'path'),
      GOFLAGS: '-modcacherw',
      GOTOOLCHAIN: 'local',
    };
    const readme = await readFile(join(example, 'README.md'), 'utf8');
    const [install = '', start = ''] = [...readme.matchAll(/^ {4}(.+)$/gm)].map(([, command = '']) => command);
    assert.equal(start, 'go run .');
    await run('sh', ['-c', install], { folder, env });
    await run('go', ['build', '-o', 'receiver', '.'], { folder, env });
    const child = spawn(join(folder, 'receiver'), { env: { ...process.env, ...env } });
    const lines: string[] = [];
    const output = createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
    try {
      await once(output, 'line');
      const event = await new Svc(service.key, { baseUrl: service.baseUrl }).sandbox.events.trigger({
        type: 'order.succeeded',
      });
      const { body, headers } = await webhooks.signTestEvent(event, secret);
      const post = async (text: string): Promise<number> =>
        (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: text, headers })).status;
      assert.deepEqual([await post(body), await post(body), await post(`${body} `)], [200, 200, 400]);
      assert.equal(lines.filter((line) => line.includes('order.succeeded: order ')).length, 1);
      assert.ok(lines.some((line) => line.includes('webhook_signature_failed')));
    } finally {
      child.kill();
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
} else {
  process.stdout.write('Go is not here, so the webhook receiver is not tested.\n');
}
