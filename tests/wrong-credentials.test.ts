import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { type Component, type Components, openComponents } from '../server/platform/components.ts';
import { type DatabasePool, openDatabase } from '../server/platform/database.ts';
import { createS3Store } from '../server/platform/files/s3-store.ts';
import { createLog } from '../server/platform/log.ts';
import { smtpMailer } from '../server/platform/mail/smtp.ts';
import { openReplica } from '../server/platform/replica.ts';
import { Secret } from '../server/platform/secret.ts';
import type { ConfiguredShard } from '../server/start/configured-shard.ts';
import { openRedisStore } from '../server/start/rate-limiter.ts';
import { watchVault } from '../server/start/vault.ts';
import { watchDatabases, watchMail, watchObjectStore, watchReplicas } from '../server/start/watch-parts.ts';
import { remoteVault } from '../server/vault/client.ts';
import { buildVaultServer } from '../server/vault/server.ts';
import type { Vault } from '../server/vault/vault.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { freePort, listen } from './support/listen.ts';
import { eventually } from './support/webhooks.ts';

/** Health is the result of a use with the credentials of the process: with wrong ones, no part is up. */

const closing: (() => unknown)[] = [];
let database: TestDatabase;
const logLines: string[] = [];

before(async () => {
  database = await cloneDatabase(1);
});
after(async () => {
  for (const close of closing.toReversed()) await close();
  await database.drop();
});

function pool(login: string): DatabasePool {
  const url = new URL(database.connectionString);
  if (login === 'wrong') url.username = 'no_such_login';
  const applicationName = 'svc tests';
  const opened = openDatabase({ connectionString: url.href, poolSize: 2, applicationName, onError: () => undefined });
  closing.push(() => opened.close());
  return opened;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  closing.push(() => server.close());
  return listen(server);
}

/** An object store that knows one access key. */
function bucket(): RequestListener {
  const objects = new Map<string, string>();
  async function answer({ method, url = '', headers }: IncomingMessage, body: Promise<string>): Promise<string> {
    if (!headers.authorization?.includes('Credential=right/')) return '<Error><Code>InvalidAccessKeyId</Code></Error>';
    if (method === 'PUT') objects.set(url, await body);
    const found = objects.get(url) ?? '';
    if (method === 'DELETE') objects.delete(url);
    return found;
  }
  return (request, response) => {
    void answer(request, text(request)).then((body) => response.writeHead(body.startsWith('<') ? 403 : 200).end(body));
  };
}

const bucketAt = (endpoint: string, accessKeyId: string) =>
  createS3Store({ endpoint, region: 'us-east-1', bucket: 'images', accessKeyId, secretAccessKey: 'secret' });

async function mailServer(): Promise<number> {
  const server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ password }, _session, done) => {
      if (password === 'right') done(null, { user: 'svc' });
      else done(new Error('wrong password'));
    },
  });
  closing.push(() => new Promise<void>((resolve) => server.close(resolve)));
  const inner = server.listen(0, '127.0.0.1');
  await once(inner, 'listening');
  return (inner.address() as AddressInfo).port;
}

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

async function redis(): Promise<number> {
  const port = await freePort();
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--requirepass', 'right', '--save', ''];
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(async () => {
    server.kill();
    await once(server, 'exit');
  });
  for await (const chunk of server.stdout) if (/ready to accept/i.test(String(chunk))) break;
  return port;
}

interface Part {
  /** Watches the part, with this as its password, token, key or login. */
  watch(components: Components, credential: 'right' | 'wrong'): Promise<void>;
  readonly problem: RegExp;
  readonly skip?: boolean;
  /** Another test starts what it needs. */
  readonly isOnlyWrong?: boolean;
}

// The processor is a part that merchants have credentials for: those of one merchant never make it down, see
// refused-credentials.test.ts.
const parts: Readonly<Record<Exclude<Component, 'processor'>, Part>> = {
  database: {
    watch: async (components, credential) => watchDatabases(components, [{ name: 'a', db: pool(credential) }]),
    problem: /^the database refuses our login$/,
  },
  vault: {
    async watch(components, credential) {
      const there = { health: async () => ({ problem: undefined, processorProblem: undefined }) } as Vault;
      const server = buildVaultServer(there, [new Secret('right')]);
      closing.push(() => server.close());
      const vault = remoteVault([await server.listen({ host: '127.0.0.1', port: 0 })], new Secret(credential));
      closing.push(() => vault.close?.());
      watchVault(vault, components);
    },
    problem: /^the vault refuses our token$/,
  },
  object_store: {
    watch: async (components, credential) => watchObjectStore(components, bucketAt(await serve(bucket()), credential)),
    problem: /^the object store refuses our credentials$/,
  },
  mail: {
    async watch(components, credential) {
      const mailer = smtpMailer(`smtp://svc:${credential}@127.0.0.1:${await mailServer()}`, 'svc@example.com');
      closing.push(() => mailer.close());
      watchMail(components, mailer);
    },
    problem: /^the mail server refuses our login$/,
  },
  rate_limit_store: {
    async watch(components, credential) {
      const REDIS_URL = new Secret(`redis://:${credential}@127.0.0.1:${await redis()}`);
      const { limiter, use } = await openRedisStore({ REDIS_URL, SVC_REDIS_SENTINELS: [] }, () => undefined);
      closing.push(() => limiter.close?.());
      components.watch('rate_limit_store', use, 10_000);
    },
    problem: /^the shared store of the rate limits refuses our login$/,
    skip: !hasRedis,
  },
  replica: {
    async watch(components, credential) {
      const replica = openReplica({ primary: pool('right'), standby: pool(credential) }, { waitMs: 100 });
      watchReplicas(components, [{ name: 'a', replica } as ConfiguredShard]);
    },
    problem: /^a replica is not used$/,
    isOnlyWrong: true,
  },
};

async function stateOf(component: Component, watch: (components: Components) => Promise<void>) {
  const components = openComponents(createLog('info', { write: (line) => logLines.push(line) }));
  closing.push(() => components.stop());
  assert.ok(!components.states().has(component), 'a part that was not used has no state');
  await watch(components);
  while (!components.states().has(component)) await components.used();
  return components.states().get(component);
}

describe('a part of the installation', () => {
  for (const [name, { watch, problem, skip = false, isOnlyWrong = false }] of Object.entries(parts)) {
    const component = name as Component;
    it(`is down with wrong credentials, and says so: ${name}`, { skip }, async () => {
      assert.match((await stateOf(component, (components) => watch(components, 'wrong'))) ?? '', problem);
      const line = new RegExp(`"severity_text":"ERROR".*"body":"unavailable: ${name}"`);
      await eventually('it is logged', async () => logLines.some((one) => line.test(one)));
    });
    it(`is up with the right ones: ${name}`, { skip: skip || isOnlyWrong }, async () => {
      assert.equal(await stateOf(component, (components) => watch(components, 'right')), undefined);
    });
  }

  it('is down if it accepts everything and keeps nothing: object_store', async () => {
    const url = await serve((_request, response) => response.end('fine'));
    const state = await stateOf('object_store', async (components) =>
      watchObjectStore(components, bucketAt(url, 'right')),
    );
    assert.equal(state, 'the object store cannot be used');
    const line = /S3 returned another object than was written/;
    await eventually('it is logged', async () => logLines.some((one) => line.test(one)));
  });
});
