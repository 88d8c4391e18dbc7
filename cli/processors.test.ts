import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type Ended, svc } from '../tests/support/command.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { openSimulator } from '../simulators/simulators.ts';

/** `svc processors …` beside a running service and a simulated Stripe. */

const liveKey = 'sk_live_51NotARealKey00000000';
let service: TestService;
let stripe: Server;
let url: string;
let companyId: string;
before(async () => {
  service = await startTestService();
  stripe = await openSimulator('stripe', {
    journalFile: join(service.config.dataDir, 'stripe.ndjson'),
    secret: liveKey,
  });
  await once(stripe.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(stripe.address() as AddressInfo).port}`;
});
after(async () => {
  stripe.closeAllConnections();
  stripe.close();
  await service.stop();
});
beforeEach(async () => {
  companyId = (await service.createMerchant()).live.id;
});

const processors = (...words: string[]): Promise<Ended> =>
  svc(
    {
      ...service.database.settings,
      SVC_DATA_DIR: service.config.dataDir,
      SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
      SVC_BASE_URL: 'https://pay.example',
      SVC_PROCESSOR_ORIGINS: url,
      SVC_PROCESSOR_SECRET: 'of an acquirer',
    },
    'processors',
    ...words,
    '--company',
    companyId,
  );

function connect(secretKey: string, ...words: string[]): Promise<Ended> {
  const file = join(service.config.dataDir, `${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify({ secret_key: secretKey, api_url: url }));
  return processors('connect', '--processor', 'stripe', '--credentials', file, ...words);
}

const stored = (): Promise<object[]> =>
  service.vaultDb.query('SELECT id, kind FROM vault.connections WHERE company_id = $1', [companyId]);
const idOf = ({ stdout }: Ended): string => /connection is (\S+)\./.exec(stdout)?.[1] ?? '';

test('connects Stripe after a call that works, and prints where Stripe sends its notices', async () => {
  const connected = await connect(liveKey);
  const id = idOf(connected);
  assert.equal(
    connected.stdout.split('\n')[1],
    `Enter this notice URL at the processor: https://pay.example/processors/${id}/notices`,
    connected.stderr,
  );
  assert.match((await processors('test')).stdout, /^The connection works\. The account is /);
  assert.match((await processors('list')).stdout, new RegExp(`notice URL .*/${id}/notices, no notice yet`));
  assert.deepEqual(await stored(), [{ id, kind: 'stripe' }]);
});

test('stores no credentials that do not work', async () => {
  const [unknown, publishable] = await Promise.all([
    connect('sk_live_51AnotherAccount0000'),
    connect('pk_live_51NotARealKey00000000'),
  ]);
  assert.match(unknown.stderr, /^Stripe does not know this secret key/);
  assert.match(publishable.stderr, /secret_key.*must be a secret key/);
  assert.deepEqual(await stored(), []);
});

test('replaces credentials only by those of the same kind, until they are removed', async () => {
  const id = idOf(await connect(liveKey));
  const acquirer = ['--processor', 'acquirer', '--url', 'https://acquirer.example'];
  const [other, same] = await Promise.all([
    processors('connect', ...acquirer, '--connection', id),
    connect(liveKey, '--connection', id.toUpperCase()),
  ]);
  assert.match(other.stderr, /^The connection is of stripe\./);
  assert.match(same.stdout, /is connected to Stripe/);
  assert.match((await processors('disconnect')).stdout, /New orders of this company are rejected/);
  assert.match((await processors('reconnect')).stdout, /^Connected/);
  await processors('disconnect');
  assert.match((await processors('remove')).stdout, /^Removed/);
  const [again, back] = await Promise.all([
    connect(liveKey, '--connection', id),
    processors('reconnect', '--connection', id),
  ]);
  assert.match(again.stderr, /were removed/);
  assert.match(back.stderr, /were removed/);
  assert.deepEqual(await stored(), []);
});

test('accepts the rules that the dashboard accepts, and explains others', async () => {
  await connect(liveKey);
  const [currency, brand, ruled] = await Promise.all([
    processors('rules', '--currencies', 'euro'),
    processors('rules', '--brands', 'visa,dankort'),
    processors('rules', '--currencies', 'EUR, usd', '--brands', 'visa', '--share', '30'),
  ]);
  assert.match(currency.stderr, /^--currencies/);
  assert.match(brand.stderr, /^--brands/);
  assert.equal(ruled.stdout, 'The rules are {"currencies":["eur","usd"],"brands":["visa"],"share":30}.\n');
  const [headings, row = ''] = (await processors('list')).stdout
    .split('\n')
    .filter((line) => !line.includes('removed'));
  assert.match(headings ?? '', /^ID +ORDER +KIND +CHARGES +NAME$/);
  assert.match(row, / {2}stripe +eur,usd visa 30% +Stripe$/);
});
