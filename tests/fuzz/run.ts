import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '../../scripts/command-line.ts';
import { installPython } from '../generators/python.ts';
import { startTestServer } from '../support/test-server.ts';
import { fuzz } from './own.ts';
import { operations } from './requests.ts';
import { startTarget, type Target } from './target.ts';
import { isError, type LogLine, logLine } from '../support/log-lines.ts';

const { values } = readCommandLine({
  name: 'npm run fuzz',
  summary:
    'Sends requests made from the OpenAPI document to a service without limits, and exits with 1 if a response was a 5xx or is not what the document says.',
  options: {
    requests: { type: 'number', default: 100_000, describe: 'How many requests to send.' },
    seed: { type: 'number', describe: 'Repeats the requests of a run with this seed.' },
    own: { type: 'flag', describe: 'Uses our own generator even where Python, and so schemathesis, is present.' },
  },
});
const { requests: wanted, seed = Date.now() % 1_000_000 } = values;
const here = fileURLToPath(new URL('.', import.meta.url));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Answered {
  readonly method: string;
  readonly route: string;
  readonly status: number;
}

/** Counts what the services answered, beside what the tools report. */
class Tally {
  readonly statuses = new Map<number, number>();
  readonly routes = new Set<string>();
  readonly errors: string[] = [];
  requests = 0;

  read({ service }: Target): void {
    for (const line of service.logLines.splice(0)) {
      const parsed = logLine(line);
      const entry = answeredIn(parsed);
      if (isError(parsed) && this.errors.length < 20) this.errors.push(line);
      if (entry.route === undefined || entry.status === undefined || !isOfTheApi(entry.route)) continue;
      this.requests += 1;
      this.routes.add(`${entry.method} ${entry.route.replace(/:(\w+)/g, '{$1}')}`);
      this.statuses.set(entry.status, (this.statuses.get(entry.status) ?? 0) + 1);
      if (entry.status >= 500 && !usual.has(entry.status) && this.errors.length < 20) this.errors.push(line);
    }
  }
}

const answeredIn = ({ attributes }: LogLine) =>
  ({
    method: attributes['http.request.method'],
    route: attributes['http.route'],
    status: attributes['http.response.status_code'],
  }) as Partial<Answered>;

const isOfTheApi = (route: string): boolean => route.startsWith('/v1/') || route === '/capture';
// Two operations are in the contract and not enabled.
const usual = new Set([501]);

/** A service for this work alone, with its own database: what earlier requests made would slow later ones down. */
async function withTarget<Result>(tally: Tally, work: (target: Target) => Promise<Result>): Promise<Result> {
  const target = await startTarget();
  const reading = setInterval(() => tally.read(target), 1_000);
  try {
    return await work(target);
  } finally {
    clearInterval(reading);
    tally.read(target);
    await target.service.stop();
  }
}

/** Runs of schemathesis, each with the next seed. */
async function bySchemathesis(bin: string, tally: Tally): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-schemathesis-'));
  let failures = 0;
  for (let round = 0, before = -1; tally.requests < wanted && tally.requests > before && failures < 3; round += 1) {
    before = tally.requests;
    const { code, output } = await withTarget(tally, async (target) => {
      // Something to meet: objects that only a sequence of calls makes.
      await fuzz(target, { requests: 1_000, seed });
      return run(bin, folder, target, seed + round);
    });
    say(`${tally.requests} of ${wanted} requests, seed ${seed + round}: ${code === 0 ? 'nothing found' : 'FAILED'}`);
    if (code === 0) continue;
    failures += 1;
    say(`\n${output.slice(output.indexOf('= FAILURES =')).slice(-20_000)}`);
  }
  await rm(folder, { recursive: true, force: true });
  return failures;
}

async function run(
  bin: string,
  folder: string,
  { baseUrl, key, planIds }: Target,
  runSeed: number,
): Promise<{ code: number | null; output: string }> {
  const known = await knownObjects(baseUrl, key, planIds);
  const config = join(here, 'schemathesis.toml');
  const header = `Authorization: Bearer ${key}`;
  const options = ['run', `${baseUrl}/openapi.json`, '--url', baseUrl, '--header', header, '--seed', String(runSeed)];
  const child = spawn(join(bin, 'schemathesis'), ['--config-file', config, ...options, '--no-color'], {
    cwd: folder,
    env: {
      ...process.env,
      SVC_FUZZ_KNOWN: JSON.stringify(known),
      SCHEMATHESIS_HOOKS: join(here, 'hooks.py'),
      PYTHONDONTWRITEBYTECODE: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}

/** Some ids of each kind, for hooks.py to put into requests. */
async function knownObjects(
  baseUrl: string,
  key: string,
  planIds: readonly string[],
): Promise<Record<string, string[]>> {
  const headers = { authorization: `Bearer ${key}`, 'svc-version': '2026-02-11' };
  const idsOf = async (path: string, field = 'id'): Promise<string[]> => {
    const { data = [] } = (await (await fetch(`${baseUrl}/v1/${path}`, { headers })).json()) as {
      data?: Record<string, string>[];
    };
    return data.map((one) => one[field] ?? '');
  };
  const collections = [
    'customers',
    'orders',
    'products',
    'subscriptions',
    'coupons',
    'transactions',
    'webhook_endpoints',
  ];
  const ids = await Promise.all(collections.map((name) => idsOf(`${name}?limit=50`)));
  const known: Record<string, string[]> = Object.fromEntries(
    collections.map((name, index) => [`${name.replace(/s$/, '')}_id`, ids[index] ?? []]),
  );
  const [customer = ''] = known.customer_id ?? [];
  const [coupon = ''] = known.coupon_id ?? [];
  return {
    ...known,
    coupon_code: await idsOf(`coupons/${coupon}/codes`, 'code'),
    plan_id: [...planIds],
    event_id: await idsOf('events?limit=50'),
    request_id: await idsOf('requests?limit=50', 'request_id'),
    role_id: await idsOf('roles'),
    payment_method_id: await idsOf(`customers/${customer}/payment_methods`),
  };
}

async function byOurselves(tally: Tally): Promise<number> {
  const onProgress = (done: number): void => {
    if (done % 5_000 === 0) say(`${done} of ${wanted} requests`);
  };
  const { findings } = await withTarget(tally, (target) => fuzz(target, { requests: wanted, seed, onProgress }));
  for (const { request, problem } of findings) say(`\n${request}\n${problem}`);
  return findings.length;
}

const folder = await mkdtemp(join(tmpdir(), 'svc-fuzz-'));
const postgres = await startTestServer(folder);
const tally = new Tally();
const startedAtMs = Date.now();
try {
  const bin = values.own ? undefined : await installPython(undefined, true);
  say(bin ? `schemathesis, seed ${seed}` : `our own generator, seed ${seed}`);
  const failures = bin ? await bySchemathesis(bin, tally) : await byOurselves(tally);
  const minutes = ((Date.now() - startedAtMs) / 60_000).toFixed(1);
  const missed = operations.filter(({ method, path }) => !tally.routes.has(`${method} ${path}`));
  for (const text of tally.errors) say(`\n${text}`);
  say(
    `\n${tally.requests} requests in ${minutes} min; ${operations.length - missed.length} of ${operations.length} operations`,
  );
  for (const [status, count] of [...tally.statuses].toSorted(([left], [right]) => left - right))
    say(`  ${status}: ${count}`);
  process.exitCode = failures + tally.errors.length + missed.length === 0 ? 0 : 1;
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
