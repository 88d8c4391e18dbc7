import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate } from '../../../server/platform/migrations.ts';
import { type FleetProcess, runSvc, startProcess, thisRoot } from '../../support/fleet.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startTraffic, type Traffic } from '../../support/traffic.ts';
import { type DrillStage, exactly, type Figure, shown } from '../drill.ts';

/**
 * A rolling upgrade under load. The release before serves with its API, worker and vault; this version migrates the
 * database and starts beside it; then the release before starts again on the new schema, as an operator does who goes
 * back. In each phase subscriptions fall due, and each API uses the vault of the other version.
 */

export interface UpgradeSetting {
  readonly oldRoot: string;
  readonly urls: { readonly owner: string; readonly api: string; readonly vault: string };
  /** Free ports for five processes. */
  readonly ports: readonly number[];
  readonly clients: number;
  /** How long each phase lasts at least. */
  readonly phaseMs: number;
}

const subscriptions = 5;
const patienceMs = 20_000;
const certificates = fileURLToPath(new URL('../../support/certificates/ca.pem', import.meta.url));

export async function drillUpgrade(stage: DrillStage, setting: UpgradeSetting): Promise<Figure[]> {
  const { folder, note, cleanUp } = stage;
  const { oldRoot, urls, ports, phaseMs } = setting;
  const [oldVaultPort = 0, oldPort = 0, newPort = 0, newVaultPort = 0, backPort = 0] = ports;
  const fleet: FleetProcess[] = [];
  const common = {
    SVC_MASTER_SECRET: 'the master secret of a drill on this machine',
    SVC_VAULT_TOKEN: 'the token of a vault of a drill on this machine',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
    SVC_WEBHOOK_CA: certificates,
    ...Object.fromEntries(['GLOBAL', 'READ', 'WRITE', 'CAPTURE'].map((kind) => [`SVC_RATE_LIMIT_${kind}`, 'off'])),
  };
  const start = async (
    name: string,
    root: string,
    port: number,
    more: Record<string, string>,
  ): Promise<FleetProcess> => {
    const started = await startProcess({ name, root, port, environment: { ...common, ...more } });
    cleanUp(() => started.stop());
    fleet.push(started);
    return started;
  };
  const startVault = (name: string, root: string, port: number): Promise<FleetProcess> =>
    start(name, root, port, {
      SVC_ROLES: 'vault',
      SVC_VAULT_DATABASE_URL: urls.vault,
      SVC_DATA_DIR: join(folder, 'vaults'),
    });
  const startApi = (name: string, root: string, port: number, vaultPort: number): Promise<FleetProcess> =>
    start(name, root, port, {
      SVC_ROLES: 'api,worker',
      // The first process migrates the empty database.
      DATABASE_URL: name === 'old' ? urls.owner : urls.api,
      SVC_VAULT_URL: `http://127.0.0.1:${vaultPort}`,
      SVC_DATA_DIR: join(folder, name),
      ...(name === 'old' && { SVC_DEMO: '1' }),
    });

  note('the release before starts');
  const owner = { ...common, DATABASE_URL: urls.owner, SVC_DATA_DIR: join(folder, 'vaults') };
  const old = await startApi('old', oldRoot, oldPort, oldVaultPort);
  await startVault('old vault', oldRoot, oldVaultPort);
  const client = new pg.Client({ connectionString: urls.owner });
  await client.connect();
  cleanUp(() => client.end());
  const receiver = await startReceiver();
  cleanUp(() => receiver.stop());
  const { secret_key: apiKey } = await demoOf(join(folder, 'old/demo.json'));
  const productId = await findProduct(client);
  const traffic = startTraffic(apiKey, [old.url], setting.clients, productId);
  cleanUp(() => traffic.stop());
  await traffic.send('POST', '/v1/webhook_endpoints', { url: receiver.url, enabled_events: ['*'] });
  await subscribe(traffic, client);
  const renewed: boolean[] = [];
  const phase = async (text: string): Promise<void> => {
    note(text);
    renewed.push(await renewAll(client, renewed.length + 2));
    await sleep(phaseMs);
  };

  await sleep(phaseMs);
  await migrate(urls.owner);
  await phase('the database is migrated; the release before goes on');
  const [next] = await Promise.all([
    startApi('new', thisRoot, newPort, oldVaultPort),
    startVault('new vault', thisRoot, newVaultPort),
  ]);
  traffic.use([old.url, next.url]);
  await phase('this version serves beside it');
  const back = await startApi('old again', oldRoot, backPort, newVaultPort);
  traffic.use([old.url, next.url, back.url]);
  await phase('the release before starts again, on the new schema and with the new vault');

  await traffic.stop();
  const waiting = async (): Promise<number> => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS n FROM webhook_deliveries WHERE status <> 'delivered'`,
    );
    return rows[0].n;
  };
  await within(async () => (await waiting()) === 0);
  const events = await client.query(`SELECT id FROM events e WHERE EXISTS (
    SELECT 1 FROM webhook_deliveries d WHERE d.company_id = e.company_id AND d.event_id = e.id)`);
  const received = new Set(receiver.received.map(({ event }) => event.id as string));
  const warnings = fleet.flatMap((each) => each.warnings().map((line) => `${each.name}: ${line}`));
  for (const line of [...traffic.failures.slice(0, 5), ...warnings.slice(0, 5)]) note(line);
  return [
    shown('requests', traffic.requests()),
    shown('orders', traffic.orders.length),
    exactly('failed requests', traffic.failures.length, 0),
    exactly('warnings and errors in the logs', warnings.length, 0),
    exactly('phases in which all renewals were charged', renewed.filter(Boolean).length, 3),
    shown('events', events.rows.length),
    exactly('deliveries that were not made', await waiting(), 0),
    exactly('events that the receiver did not get', events.rows.length - received.size, 0),
    exactly('svc doctor finds no problem', runSvc(thisRoot, owner, 'doctor').startsWith('No problems'), true),
  ];
}

/** The demo company is created after the process is ready. */
export async function demoOf(file: string): Promise<{ secret_key: string; email: string; password: string }> {
  await within(async () => existsSync(file));
  return JSON.parse(await readFile(file, 'utf8'));
}

export async function findProduct(client: pg.Client): Promise<string> {
  const { rows } = await client.query(
    `SELECT p.id FROM products p JOIN companies c ON c.id = p.company_id WHERE p.sku = 'class' AND c.mode = 'sandbox'`,
  );
  return rows[0].id;
}

async function subscribe(traffic: Traffic, client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT p.id FROM plans p JOIN companies c ON c.id = p.company_id
     WHERE p.name = 'Fresh tea weekly' AND c.mode = 'sandbox'`,
  );
  while (traffic.orders.length < subscriptions) await sleep(20);
  for (const { body } of traffic.orders.slice(0, subscriptions)) {
    const { customer_id } = body as { customer_id: string };
    await traffic.send('POST', '/v1/subscriptions', { customer_id, plan_id: rows[0].id });
  }
}

/** Moves every subscription one week into the past, and waits until the workers have charged the cycle. */
async function renewAll(client: pg.Client, cycle: number): Promise<boolean> {
  const ago = `interval '169 hours'`;
  await client.query(
    `UPDATE subscriptions SET start_at = start_at - ${ago}, base_at = base_at - ${ago},
       current_period_start = current_period_start - ${ago}, current_period_end = current_period_end - ${ago}, due_at = now()`,
  );
  return within(async () => {
    const { rows } = await client.query(`SELECT 1 FROM orders WHERE subscription_cycle = $1 AND status = 'succeeded'`, [
      cycle,
    ]);
    return rows.length === subscriptions;
  });
}

export async function within(condition: () => Promise<boolean>): Promise<boolean> {
  const deadlineMs = performance.now() + patienceMs;
  while (performance.now() < deadlineMs) {
    if (await condition()) return true;
    await sleep(50);
  }
  return false;
}
