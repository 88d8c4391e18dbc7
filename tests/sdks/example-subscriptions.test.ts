import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Svc, webhooks } from '../../sdk/node/src/index.ts';
import { installPython } from '../generators/python.ts';
import { run } from '../generators/world.ts';
import { freePort } from '../support/listen.ts';
import { startTestService } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';
import { eventually } from '../support/webhooks.ts';
import { mayInstall } from './present.ts';

/** The example in Python, from a copy of its folder, with the commands of its README. */

const example = fileURLToPath(new URL('../../examples/subscriptions-python/', import.meta.url));
const requirements = join(example, 'requirements.txt');
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const bin = await installPython(requirements, mayInstall);

test('the website with subscriptions in Python needs exact versions only', async () => {
  const lines = (await readFile(requirements, 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines.filter((line) => !/^[\w.-]+==\d[\w.]*$/.test(line)),
    [],
  );
});

if (bin === undefined) {
  process.stdout.write(
    'Python or its packages are not here, so the website with subscriptions is not tested: npm run sdks installs them.\n',
  );
} else {
  test('the website with subscriptions in Python starts from a clean folder, and follows subscriptions', async () => {
    const service = await startTestService();
    const folder = await mkdtemp(join(tmpdir(), 'svc-subscriptions-'));
    await cp(example, folder, { recursive: true });
    const port = await freePort();
    const readme = await readFile(join(example, 'README.md'), 'utf8');
    const [install = '', start = ''] = [...readme.matchAll(/^ {4}(.+)$/gm)].map(([, command = '']) => command);
    const env = {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      SVC_URL: service.baseUrl,
      SVC_KEY: service.key,
      SVC_WEBHOOK_SECRET: secret,
      PYTHONPATH: join(folder, 'packages'),
    };
    // The packages of others are there already; that of the SDK comes from the service.
    await run(
      'sh',
      ['-c', `${install} --quiet --no-deps --no-index --target packages`.replace('-r requirements.txt ', '')],
      { folder, env },
    );
    const child = spawn('sh', ['-c', `exec ${start.replace('8000', String(port))}`], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    const website = `http://127.0.0.1:${port}`;
    try {
      await eventually(
        'it listens',
        async () => (await fetch(`${website}/thanks`).catch(() => undefined))?.ok === true,
        60_000,
      );
      const plan = await somePlan(service, { name: 'Tea <b>monthly</b>' });
      const page = await (await fetch(website)).text();
      assert.ok(page.includes('Tea &lt;b&gt;monthly') && page.includes('19.00 USD'), page);
      const redirect = await fetch(`${website}/plans/${plan.id}/subscribe`, { method: 'POST', redirect: 'manual' });
      assert.deepEqual([redirect.status, /\/checkout\//.test(redirect.headers.get('location') ?? '')], [303, true]);
      const unknown = await fetch(`${website}/plans/019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c/subscribe`, {
        method: 'POST',
      });
      assert.equal(unknown.status, 404);
      const event = await new Svc(service.key, { baseUrl: service.baseUrl }).sandbox.events.trigger({
        type: 'subscription.created',
      });
      const { body, headers } = await webhooks.signTestEvent(event, secret);
      const post = async (text: string): Promise<number> =>
        (await fetch(`${website}/webhooks`, { method: 'POST', body: text, headers })).status;
      assert.deepEqual([await post(body), await post(body), await post(`${body} `)], [200, 200, 400]);
      assert.deepEqual(Object.values((await (await fetch(`${website}/subscriptions`)).json()) as object), ['active']);
    } finally {
      child.kill();
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
