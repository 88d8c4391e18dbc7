import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { parser } from '@prometheus-io/lezer-promql';
import pg from 'pg';
import { parse } from 'yaml';
import { loadConfig } from '../server/config.ts';
import { createLog } from '../server/platform/log.ts';
import { catalogue, type MetricName, metricOf } from '../server/platform/metric-catalogue.ts';
import { type Service, startService } from '../server/service.ts';
import { nextKeys } from '../server/vault/key-store.ts';
import { svc } from './support/command.ts';
import { evaluate, minutesOf, readSeries } from './support/promql.ts';
import { freePort } from './support/listen.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { someCustomer, someProduct } from './support/service.ts';
import { eventually } from './support/webhooks.ts';

/** What an operator sees: metrics, readiness, alerts, the dashboard, `status` and `doctor`. */

const token = 'a credential of this test for its vault, long enough';
const masterSecret = 'a master secret of this test, long enough';

let database: TestDatabase;
let folder: string;
let vault: Service;
let service: Service;
let vaultUrl: string;
let settings: Record<string, string>;
const logLines: string[] = [];

const start = (environment: Record<string, string>): Promise<Service> => {
  const log = createLog('info', { write: (line) => logLines.push(line) });
  return startService(loadConfig({ PORT: '0', SVC_MAX_EVENT_LOOP_DELAY_MS: '0', ...environment }), log, assert.fail);
};

const textOf = async (url: string): Promise<string> => (await fetch(url)).text();
const readiness = async (): Promise<{ status: string; components: Record<string, string> }> =>
  JSON.parse(await textOf(`${service.baseUrl}/readyz`)) as { status: string; components: Record<string, string> };

before(async () => {
  database = await cloneDatabase(1);
  folder = await mkdtemp(join(tmpdir(), 'svc-observability-'));
  const port = await freePort();
  vaultUrl = `http://127.0.0.1:${port}`;
  vault = await start({
    SVC_ROLES: 'vault',
    SVC_VAULT_PORT: String(port),
    SVC_VAULT_TOKEN: token,
    SVC_VAULT_KEYS: nextKeys(undefined),
    SVC_VAULT_DATABASE_URL: database.vaultUrl,
    SVC_DATA_DIR: join(folder, 'vault'),
  });
  // Nothing listens on port 9.
  settings = {
    SVC_VAULT_URL: vaultUrl,
    SVC_VAULT_TOKEN: token,
    DATABASE_URL: database.connectionString,
    // Not a standby, so it is not used.
    SVC_READ_URL: database.connectionString,
    SVC_MASTER_SECRET: masterSecret,
    SVC_DATA_DIR: join(folder, 'api'),
    SVC_BACKUP_PATH: folder,
    SMTP_URL: 'smtp://127.0.0.1:9',
    S3_ENDPOINT: 'http://127.0.0.1:9',
    S3_BUCKET: 'images',
    S3_ACCESS_KEY_ID: 'key',
    S3_SECRET_ACCESS_KEY: 'secret of S3',
  };
  service = await start({
    ...settings,
    SVC_ROLES: 'api,worker',
    SVC_DEMO: 'empty',
    SVC_RATE_LIMIT_COUPON_VALIDATION: '1/60',
  });
});
after(async () => {
  await service.stop();
  await vault.stop().catch(() => undefined);
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function queryDatabase(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** The names of the metrics with the labels that they have there, without those that a histogram adds. */
async function metricsAt(url: string): Promise<Set<string>> {
  const text = await textOf(`${url}/metrics`);
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const fileOf = (name: string): Promise<string> =>
  readFile(new URL(`../deploy/observability/${name}`, import.meta.url), 'utf8');

async function rules(): Promise<Rule[]> {
  const { groups } = parse(await fileOf('alerts.yaml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string }[];
}

/** Metrics that Prometheus adds to every target. */
const ofPrometheus = ['up'];
const addedLabels = ['le', 'instance', 'job'];

/** Checks the syntax; returns the names of the metrics, and each label with its metric and compared value. */
function readQuery(expression: string): { names: string[]; labels: { name: string; label: string; value?: string }[] } {
  // Grafana replaces its variables before Prometheus reads the query.
  const query = expression.replaceAll('$__rate_interval', '5m');
  const names: string[] = [];
  const labels: { name: string; label: string; value?: string }[] = [];
  const textAt = ({ from, to }: { from: number; to: number }): string => query.slice(from, to);
  parser.parse(query).iterate({
    enter(node) {
      assert.ok(!node.type.isError, `not PromQL at "${query.slice(node.from)}" of: ${query}`);
      if (node.name === 'Identifier') names.push(textAt(node));
      if (node.name === 'UnquotedLabelMatcher') {
        const [, label = '', operator = '', value = ''] = /^(\w+)\s*([=!~]+)\s*"(.*)"$/.exec(textAt(node)) ?? [];
        labels.push({
          name: names.at(-1) ?? '',
          label,
          ...(operator.length < 3 && !operator.includes('~') && { value }),
        });
      }
      if (node.name === 'GroupingLabels') {
        for (const [label] of textAt(node).matchAll(/\w+/g)) labels.push({ name: names.at(-1) ?? '', label });
      }
    },
  });
  return { names, labels };
}

const familyOf = (name: string): string => {
  const base = name.replace(/_(bucket|count|sum)$/, '');
  return base in catalogue && metricOf(base as MetricName).kind === 'histogram' ? base : name;
};

function checkLabels({ names, labels }: ReturnType<typeof readQuery>, where: string): void {
  const known = names.map(familyOf).filter((name) => name in catalogue) as MetricName[];
  if (known.length === 0) return;
  for (const { label, value } of labels) {
    if (addedLabels.includes(label)) continue;
    const values = known.map((name) => metricOf(name).labels?.[label]).find((found) => found !== undefined);
    assert.ok(values, `${where}: no metric of the query has the label ${label}`);
    if (value !== undefined && typeof values !== 'string')
      assert.ok(values.includes(value), `${where}: ${label}=${value}`);
  }
}

describe('metrics', () => {
  it('of each role are those of the catalogue, no more and no less', async () => {
    const namesOf = (roles: readonly string[]): string[] =>
      (Object.keys(catalogue) as MetricName[]).filter((name) => {
        const of = metricOf(name).roles;
        return of === undefined || of.some((role) => roles.includes(role));
      });
    const own = (names: Set<string>): string[] => [...names].filter((name) => name.startsWith('svc_'));
    assert.deepEqual(own(await metricsAt(service.baseUrl)), namesOf(['api', 'worker']));
    assert.deepEqual(own(await metricsAt(vaultUrl)), namesOf(['vault']));
  });

  it('follow the conventions of Prometheus, and no label can have a value of a company', () => {
    for (const name of Object.keys(catalogue) as MetricName[]) {
      const { kind, labels = {} } = metricOf(name);
      assert.equal(name.endsWith('_total'), kind === 'counter', name);
      assert.doesNotMatch(name, /_(ms|minutes|percent)$/, name);
      for (const label of Object.keys(labels)) {
        assert.doesNotMatch(label, /company|customer|key|url|id$/, name);
        // Prometheus sets these itself, and renames those of the service.
        assert.ok(!['job', 'instance', 'le', 'quantile'].includes(label), `${name}: ${label}`);
      }
    }
  });

  it('have a value for every gauge of a queue, the build and the backup', async () => {
    const text = await textOf(`${service.baseUrl}/metrics`);
    const gauges = (Object.keys(catalogue) as MetricName[]).filter((name) => metricOf(name).kind === 'gauge');
    for (const name of gauges.filter((one) => !one.startsWith('svc_http_admission'))) {
      assert.match(text, new RegExp(`^${name}(\\{.*\\})? -?\\d`, 'm'), name);
    }
    assert.match(text, /^svc_build_info\{version="\d[^"]*",node="v\d[^"]*",roles="api,worker"\} 1$/m);
  });
});

describe('counters', () => {
  /** The sum of the series whose labels include these. */
  async function valueAt(url: string, name: string, ...labels: string[]): Promise<number> {
    const lines = (await textOf(`${url}/metrics`)).split('\n').filter((line) => line.startsWith(`${name}{`));
    const found = lines.filter((line) => labels.every((label) => line.includes(label)));
    return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  async function call(path: string, body: object): Promise<{ status: number; body: Record<string, string> }> {
    const { secret_key } = JSON.parse(await readFile(join(folder, 'api', 'demo.json'), 'utf8'));
    const reply = await fetch(service.baseUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret_key}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': crypto.randomUUID(),
      },
      body: JSON.stringify(body),
    });
    return { status: reply.status, body: (await reply.json()) as Record<string, string> };
  }

  async function buyWith(number: string): Promise<string | undefined> {
    const customer = await call('/v1/customers', someCustomer());
    const product = await call('/v1/products', someProduct({ requires_shipping: false }));
    const card = { number, exp_month: '12', exp_year: '2040', cvc: '999' };
    await call('/capture', { customer_id: customer.body.id, card });
    const items = [{ product_id: product.body.id, quantity: 1 }];
    return (await call('/v1/orders', { customer_id: customer.body.id, items })).body.status;
  }

  it('count orders by outcome and failure group, and the calls to the vault and the processor', async () => {
    const figures = async (): Promise<number[]> => [
      await valueAt(service.baseUrl, 'svc_orders_total', 'outcome="succeeded"', 'mode="sandbox"'),
      await valueAt(service.baseUrl, 'svc_orders_total', 'outcome="failed"', 'failure_group="soft"'),
      await valueAt(
        service.baseUrl,
        'svc_vault_call_duration_seconds_count',
        'operation="charge"',
        'result="approved"',
      ),
      await valueAt(service.baseUrl, 'svc_vault_call_duration_seconds_count', 'operation="store"', 'result="done"'),
      await valueAt(vaultUrl, 'svc_processor_call_duration_seconds_count', 'processor="sandbox"', 'result="declined"'),
      await valueAt(service.baseUrl, 'svc_batch_size_count', 'batch="outcomes"'),
    ];
    const before = await figures();
    assert.equal(await buyWith('4242424242424242'), 'succeeded');
    assert.equal(await buyWith('4000000000009995'), 'failed');
    // Requests for the metrics share an answer for 200 ms, so the first one may be from before the orders.
    const counted = await eventually('the orders are counted', async () => {
      const now = (await figures()).map((value, index) => value - (before[index] ?? 0));
      return now[0] === 1 && now[1] === 1 && now;
    });
    assert.deepEqual(counted, [1, 1, 1, 2, 1, 2]);
  });

  it('count emails by result, and show the oldest that waits', async () => {
    await queryDatabase(
      `INSERT INTO mails (company_id, id, recipient, subject, body, inserted_at)
       SELECT id, uuidv7(), 'a@example.com', 'Hello', 'Text', now() - interval '90 s' FROM companies LIMIT 1`,
    );
    // The mail server of this test refuses connections.
    await eventually('it was tried', async () => (await valueAt(service.baseUrl, 'svc_mails_total', 'failed')) > 0);
    const age = /^svc_mails_oldest_unsent_seconds (\S+)$/m.exec(await textOf(`${service.baseUrl}/metrics`))?.[1];
    assert.ok(Number(age) >= 90, age);
  });

  it('count requests beyond a rate limit, by the limit', async () => {
    const limited = (): Promise<number> =>
      valueAt(service.baseUrl, 'svc_http_requests_rate_limited_total', 'limit="coupon_validation"');
    const before = await limited();
    for (let count = 0; count < 3; count += 1) await call('/v1/coupons/validate', { code: 'X' });
    assert.equal((await limited()) - before, 2);
  });
});

describe('alerts and the dashboard', () => {
  it('use only metrics and labels that there are', async () => {
    const there = new Set([...(await metricsAt(service.baseUrl)), ...(await metricsAt(vaultUrl)), ...ofPrometheus]);
    const { panels } = JSON.parse(await fileOf('dashboard.json')) as { panels: Panel[] };
    const queries = [
      ...(await rules()).map(({ alert, expr }) => ({ where: alert, expr })),
      ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: title, expr }))),
    ];
    assert.ok(queries.length > 60);
    for (const { where, expr } of queries) {
      const query = readQuery(expr);
      assert.ok(query.names.length > 0, where);
      for (const name of query.names) assert.ok(there.has(familyOf(name)), `${where}: ${name}`);
      checkLabels(query, where);
    }
  });

  it('show every metric of the service on a panel', async () => {
    const text = await fileOf('dashboard.json');
    for (const name of Object.keys(catalogue)) assert.ok(text.includes(name), name);
  });

  it('have panels with their own number and place', async () => {
    const { panels } = JSON.parse(await fileOf('dashboard.json')) as { panels: Panel[] };
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { gridPos } of panels) assert.ok(gridPos.x + gridPos.w <= 24);
  });

  it('each have a severity, a summary and a paragraph in the runbook, which has no other', async () => {
    const all = await rules();
    const runbook = await readFile(new URL('../docs/runbook.md', import.meta.url), 'utf8');
    const paragraphs = [...runbook.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
    assert.deepEqual(
      all.map(({ alert }) => alert),
      paragraphs,
    );
    for (const { alert, labels, annotations } of all) {
      assert.ok(['critical', 'warning', 'info'].includes(labels.severity), alert);
      assert.equal(annotations.runbook_url, `{{ $externalLabels.svc_url }}/docs/runbook#${alert.toLowerCase()}`);
      assert.ok(runbook.includes(`**${annotations.summary}**`), alert);
    }
  });
});

interface RuleTest {
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly external_labels?: Readonly<Record<string, string>>;
  readonly alert_rule_test: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts: readonly { readonly exp_labels: object; readonly exp_annotations: object }[];
  }[];
}

describe('the cases of alerts.test.yaml', () => {
  it('fire the alerts that they expect, with the instance and a link to the runbook', async () => {
    const { tests } = parse(await fileOf('alerts.test.yaml')) as { tests: RuleTest[] };
    const all = await rules();
    assert.ok(tests.length > 4);
    for (const { input_series, external_labels = {}, alert_rule_test } of tests) {
      const series = input_series.map((each) => readSeries(each.series, each.values));
      for (const { eval_time, alertname, exp_alerts } of alert_rule_test) {
        const rule = all.find(({ alert }) => alert === alertname);
        assert.ok(rule, alertname);
        const now = minutesOf(eval_time);
        const minutes = Array.from({ length: minutesOf(rule.for ?? '0m') + 1 }, (_, index) => now - index);
        const pending = minutes.map((minute) => evaluate(rule.expr, series, minute).map(({ labels }) => labels));
        const firing = (pending[0] ?? []).filter((labels) =>
          pending.every((found) => found.some((other) => isDeepStrictEqual(other, labels))),
        );
        const annotations = Object.entries(rule.annotations).map(([name, text]) => [
          name,
          text.replaceAll(/\{\{ \$externalLabels\.(\w+) \}\}/g, (_, label: string) => external_labels[label] ?? ''),
        ]);
        assert.deepEqual(
          firing.map((labels) => ({
            exp_labels: { ...labels, ...rule.labels },
            exp_annotations: Object.fromEntries(annotations) as object,
          })),
          exp_alerts,
          `${alertname} at ${eval_time}`,
        );
      }
    }
  });

  it('let every alert fire at least once, and stay silent at least once', async () => {
    const { tests } = parse(await fileOf('alerts.test.yaml')) as { tests: RuleTest[] };
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    const lacking = (await rules()).flatMap(({ alert }) => {
      const fires = cases.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length > 0);
      return fires.includes(true) && fires.includes(false) ? [] : [alert];
    });
    assert.deepEqual(lacking, []);
  });

  it('pass promtool, where it is present', async () => {
    const folderOfRules = fileURLToPath(new URL('../deploy/observability/', import.meta.url));
    const { error, status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.test.yaml'], {
      cwd: folderOfRules,
      encoding: 'utf8',
    });
    if (!error) assert.equal(status, 0, stdout + stderr);
  });
});

describe('a part that is away', { concurrency: false }, () => {
  it('is named by readiness, metrics, the log, doctor and status', async () => {
    await eventually('both are noticed', async () => {
      const { components } = await readiness();
      return components.object_store === 'down' && components.mail === 'down';
    });
    const { status, components } = await readiness();
    assert.equal(status, 'degraded');
    const away = { object_store: 'down', mail: 'down', replica: 'down' };
    assert.deepEqual(components, { vault: 'up', processor: 'up', database: 'up', ...away });
    const metrics = await textOf(`${service.baseUrl}/metrics`);
    for (const component of ['object_store', 'mail']) {
      assert.match(metrics, new RegExp(`^svc_component_up\\{component="${component}"\\} 0$`, 'm'));
      const said = logLines.filter((line) => line.includes(`"body":"unavailable: ${component}"`));
      assert.equal(said.length, 1, 'it is logged once');
    }
    const doctor = await svc(settings, 'doctor');
    assert.equal(doctor.code, 1);
    assert.match(doctor.stderr, /object store that cannot be used from here: S3 PUT failed: no response/);
    assert.match(doctor.stderr, /mail that cannot be used from here/);
    assert.doesNotMatch(doctor.stderr + logLines.join(''), /secret of S3/);
  });

  it('is in `svc status`, with the processes, their versions, the queues and the age of the backup', async () => {
    const shown = (await svc(settings, 'status')).stdout;
    for (const line of [
      /^Process +api,worker, version \d\S+, \d+@/m,
      /^Process +vault, version \d/m,
      /^PostgreSQL +\d+.*, schema \d{6}_/m,
      /^Vault +up$/m,
      /^Mail server +.*ECONNREFUSED/m,
      /^Renewals due +0$/m,
      /^Webhooks due +0$/m,
      /^Last backup +\d+ s ago$/m,
    ]) {
      assert.match(shown, line);
    }
    const status = JSON.parse((await svc(settings, 'status', '--json')).stdout) as Record<string, unknown>;
    assert.equal((status.processes as unknown[]).length, 2);
    assert.equal(status.vault, 'ready');
    assert.deepEqual(status.webhooks, { due: 0, oldest_due_seconds: 0 });
    assert.ok((status.backup_age_seconds as number) < 600);
  });

  it('is a vault that refuses our token: both sides say so, and so do doctor and status', async (t) => {
    const wrong = { ...settings, SVC_VAULT_TOKEN: 'a token that the vault does not accept, long enough' };
    const port = String(await freePort());
    const worker = await start({ ...wrong, SVC_ROLES: 'worker', SVC_HEALTH_PORT: port });
    t.after(() => worker.stop());
    const at = (path: string): Promise<string> => textOf(`http://127.0.0.1:${port}${path}`);
    await eventually('it is noticed', async () => {
      const { status, message, components } = JSON.parse(await at('/readyz')) as Record<string, any>;
      return status === 'degraded' && /the vault refuses our token/.test(message) && components.vault === 'down';
    });
    const metrics = await at('/metrics');
    assert.match(metrics, /^svc_component_up\{component="vault"\} 0$/m);
    for (const side of ['caller', 'vault']) {
      assert.match(metrics, new RegExp(`^svc_vault_tokens_refused_total\\{side="${side}"\\} [1-9]`, 'm'));
    }
    for (const line of [
      /"severity_text":"ERROR".*:"the vault refuses our token"\},"body":"unavailable: vault"/,
      /"severity_text":"ERROR".*"svc.vault":"127\.0\.0\.1:\d+","svc.count":1\},"body":"the vault refuses our token/,
      /"severity_text":"WARN".*"client.address":"127\.0\.0\.1","svc.count":1\},"body":"refused a caller whose token/,
    ]) {
      const isLoggedOnce = async (): Promise<boolean> => logLines.filter((one) => line.test(one)).length === 1;
      await eventually(`it is logged once: ${line}`, isLoggedOnce);
    }
    const doctor = await svc(wrong, 'doctor');
    assert.match(doctor.stderr, /vault that cannot be used from here: the vault refuses our token/);
    assert.match((await svc(wrong, 'status')).stdout, /^Vault +the vault refuses our token$/m);
    // The API, whose token the vault accepts, is as ready as before.
    assert.equal((await readiness()).components.vault, 'up');
  });

  it('leaves the API ready to read, also when it is the vault', async () => {
    await vault.stop();
    await eventually('it is noticed', async () => (await readiness()).components.vault === 'down');
    assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 200);
    assert.match(await textOf(`${service.baseUrl}/metrics`), /^svc_component_up\{component="vault"\} 0$/m);
    const isLogged = (): boolean => logLines.some((line) => line.includes('"body":"unavailable: vault"'));
    await eventually('it is logged', async () => isLogged());
    const doctor = await svc(settings, 'doctor');
    assert.match(doctor.stderr, /vault that cannot be used from here: the vault does not respond/);
    assert.match((await svc(settings, 'status')).stdout, /^Vault +the vault does not respond/m);
  });
});
