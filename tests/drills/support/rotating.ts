import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { Secret } from '../../../server/platform/secret.ts';
import { originalKeys } from '../../../server/platform/service-keys.ts';
import { aboutSecret } from '../../../server/features/webhooks/secrets.ts';
import { type FleetProcess, runSvc, startProcess, thisRoot } from '../../support/fleet.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startTraffic, type Traffic } from '../../support/traffic.ts';
import { type DrillStage, exactly, type Figure, shown } from '../drill.ts';
import { demoOf, findProduct, within } from './upgrading.ts';
import { programPath } from '../../support/programs.ts';

/**
 * All secrets change under load: the master secret, the keys that it protects, the vault keys and the token of the vault.
 * Processes restart one by one, and the rotation is killed twice.
 */

export interface RotationSetting {
  readonly urls: { readonly owner: string; readonly api: string; readonly vault: string };
  /** Free ports for six processes. */
  readonly ports: readonly number[];
  readonly clients: number;
  readonly phaseMs: number;
}

const certificates = fileURLToPath(new URL('../../support/certificates/ca.pem', import.meta.url));
const secrets = ['the first master secret of a drill, long enough', 'the second master secret of a drill, long enough'];
const tokens = [
  'the first token of the vault of a drill, long enough',
  'the second token of the vault of a drill, long',
];

export async function drillRotation(stage: DrillStage, setting: RotationSetting): Promise<Figure[]> {
  const { folder, note, cleanUp } = stage;
  const { urls, ports, phaseMs } = setting;
  const [vaultPort = 0, ...apiPorts] = ports;
  const [oldSecret = '', newSecret = ''] = secrets;
  const [oldToken = '', newToken = ''] = tokens;
  const common = {
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
    SVC_WEBHOOK_CA: certificates,
    ...Object.fromEntries(['GLOBAL', 'READ', 'WRITE', 'CAPTURE'].map((kind) => [`SVC_RATE_LIMIT_${kind}`, 'off'])),
  };
  const fleet: FleetProcess[] = [];
  const start = async (name: string, port: number, more: Record<string, string>): Promise<FleetProcess> => {
    const started = await startProcess({ name, root: thisRoot, port, environment: { ...common, ...more } });
    cleanUp(() => started.stop());
    fleet.push(started);
    return started;
  };
  const vaultSettings = { SVC_DATA_DIR: join(folder, 'vault'), SVC_VAULT_DATABASE_URL: urls.vault };
  const api = {
    SVC_ROLES: 'api,worker',
    DATABASE_URL: urls.api,
    SVC_VAULT_URL: `http://127.0.0.1:${vaultPort}`,
    SVC_DATA_DIR: join(folder, 'api'),
    SVC_DEMO: 'empty',
  };
  const before = { ...api, SVC_MASTER_SECRET: oldSecret, SVC_VAULT_TOKEN: oldToken };
  const during = {
    ...api,
    SVC_MASTER_SECRET: newSecret,
    SVC_MASTER_SECRET_PREVIOUS: oldSecret,
    SVC_VAULT_TOKEN: newToken,
  };
  const afterwards = { ...api, SVC_MASTER_SECRET: newSecret, SVC_VAULT_TOKEN: newToken };

  note('the service runs with the old secrets; the vault accepts both tokens');
  await start('vault', vaultPort, {
    SVC_ROLES: 'vault',
    SVC_VAULT_TOKEN: newToken,
    SVC_VAULT_TOKEN_PREVIOUS: oldToken,
    ...vaultSettings,
  });
  const one = await start('one', apiPorts[0] ?? 0, before);
  const two = await start('two', apiPorts[1] ?? 0, before);
  const client = new pg.Client({ connectionString: urls.owner });
  await client.connect();
  cleanUp(() => client.end());
  const receiver = await startReceiver();
  cleanUp(() => receiver.stop());
  const demo = await demoOf(join(folder, 'api/demo.json'));
  const traffic = startTraffic(demo.secret_key, [one.url, two.url], setting.clients, await findProduct(client));
  cleanUp(() => traffic.stop());
  const endpoint = await traffic.send('POST', '/v1/webhook_endpoints', { url: receiver.url, enabled_events: ['*'] });
  const session = await signIn(one.url, demo);
  await sleep(phaseMs);

  note('the processes restart one by one with the new secrets, and work beside those with the old ones');
  const replace = async (
    name: string,
    port: number,
    settings: Record<string, string>,
    old: FleetProcess,
    stays: FleetProcess,
  ) => {
    const next = await start(name, port, settings);
    traffic.use([next.url, stays.url]);
    await sleep(phaseMs);
    await old.stop();
    return next;
  };
  const onePrime = await replace('one again', apiPorts[2] ?? 0, during, one, two);
  const refused = await rotate(during);
  const twoPrime = await replace('two again', apiPorts[3] ?? 0, during, two, onePrime);

  note('the keys are rotated; the command is killed twice');
  const first = await rotate(during, 'New keys created');
  const second = await rotate(during, 'Encrypted again');
  const last = await rotate(during);
  runSvc(thisRoot, { ...afterwards, ...vaultSettings }, 'vault', 'rotate');
  const three = await replace('without the old secret', apiPorts[4] ?? 0, afterwards, onePrime, twoPrime);
  traffic.use([three.url, twoPrime.url]);
  await sleep(phaseMs);
  await traffic.stop();

  const replayed = await replayAll(traffic);
  const waiting = `SELECT count(*)::int AS n FROM webhook_deliveries WHERE status <> 'delivered'`;
  await within(async () => (await client.query(waiting)).rows[0].n === 0);
  const warnings = fleet.flatMap((each) => each.warnings().map((line) => `${each.name}: ${line}`));
  for (const line of [...traffic.failures, ...warnings].slice(0, 8)) note(line);
  const fingerprints = await client.query(
    `SELECT DISTINCT company_id, fingerprint FROM payment_methods WHERE last4 = '4242'`,
  );
  if (last.code !== 0) note(`svc secrets rotate: ${last.stderr}`);
  const state = JSON.parse(runSvc(thisRoot, afterwards, 'secrets', 'status', '--json')) as Record<string, any>;
  return [
    shown('requests', traffic.requests()),
    shown('orders', traffic.orders.length),
    exactly('failed requests', traffic.failures.length, 0),
    exactly('warnings and errors in the logs', warnings.length, 0),
    exactly(
      'a rotation waits for processes with the old secret',
      /still use another master secret/.test(refused.stderr),
      true,
    ),
    exactly('the command was killed', `${first.killed} ${second.killed}`, 'true true'),
    exactly('the rotation continues and ends', last.code === 0 && /Continuing/.test(last.stderr), true),
    exactly('keys that do not replay their order', traffic.orders.length - replayed, 0),
    exactly('fingerprints of one card', fingerprints.rows.length, 1),
    exactly('deliveries that were not made', (await client.query(waiting)).rows[0].n, 0),
    exactly('deliveries with a wrong signature', wrongSignatures(receiver.received, endpoint.signing_secret), 0),
    exactly('status of the session from before', (await readSession(three.url, session)).status, 200),
    exactly('webhook secrets that the old secret decrypts', await openedBy(client, oldSecret), 0),
    exactly('the old secret is in use', state.previous_secret_in_use, false),
    exactly('a start with the old secret', await startFails({ ...before, PORT: '0' }), true),
    exactly('svc doctor finds no problem', isHealthy({ ...afterwards, ...vaultSettings }), true),
  ];
}

function isHealthy(environment: Record<string, string>): boolean {
  try {
    return runSvc(thisRoot, environment, 'doctor').startsWith('No problems');
  } catch {
    return false;
  }
}

interface Ended {
  readonly code: number | null;
  readonly killed: boolean;
  readonly stderr: string;
}

/** Runs `svc secrets rotate`, and kills it when it prints a text. */
async function rotate(environment: Record<string, string>, killAt?: string): Promise<Ended> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const machine = { PATH, HOME, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
  const child = spawn(process.execPath, [programPath('svc'), 'secrets', 'rotate'], {
    env: { ...machine, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
    if (killAt && stderr.includes(killAt)) child.kill('SIGKILL');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, killed: child.signalCode === 'SIGKILL', stderr };
}

async function startFails(environment: Record<string, string>): Promise<boolean> {
  return startProcess({ name: 'with the old secret', root: thisRoot, port: 0, environment }).then(
    (started) => started.stop().then(() => false),
    (error: Error) => /does not belong to this database/.test(error.message),
  );
}

/** Repeats every order with its key; counts the ones that return the order from before. */
async function replayAll(traffic: Traffic): Promise<number> {
  let same = 0;
  for (const { key, body, id } of traffic.orders) {
    const again = await traffic.send('POST', '/v1/orders', body, { idempotencyKey: key }).catch(() => undefined);
    if (again?.id === id) same += 1;
  }
  return same;
}

function wrongSignatures(received: readonly { headers: object; body: string }[], secret: string): number {
  const verifier = new Webhook(secret);
  return received.filter(({ headers, body }) => {
    try {
      verifier.verify(body, headers as Record<string, string>);
      return false;
    } catch {
      return true;
    }
  }).length;
}

/** Counts the signing secrets that the keys of 0.1.0, which only need the master secret, decrypt. */
async function openedBy(client: pg.Client, master: string): Promise<number> {
  const key = originalKeys(new Secret(Buffer.from(master)))['webhook-secrets'];
  const { rows } = await client.query('SELECT company_id, id, secret FROM webhook_endpoints');
  return rows.filter(({ company_id, id, secret }) => {
    try {
      return key.open(secret, aboutSecret(company_id, id)).length > 0;
    } catch {
      return false;
    }
  }).length;
}

interface Login {
  readonly email: string;
  readonly password: string;
}

async function signIn(url: string, { email, password }: Login): Promise<string> {
  const reply = await fetch(`${url}/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password }),
  });
  const cookies = reply.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  if (!reply.ok) throw new Error(`sign-in: ${reply.status} ${await reply.text()}`);
  return cookies.join('; ');
}

const readSession = (url: string, cookie: string): Promise<Response> =>
  fetch(`${url}/dashboard/session`, { headers: { cookie, origin: url } });
