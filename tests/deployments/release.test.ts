import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { type Artefact, buildRelease, buildReleaseOf, extraFiles } from '../../scripts/release/artefact.ts';
import { buildPackages } from '../../scripts/release/merchant-packages.ts';
import { type Bundle, bundle } from '../../scripts/release/bundle.ts';
import { notice, shippedPackages } from '../../scripts/release/packages.ts';
import { isolatedUser, missingForIsolation, runIsolated } from '../support/isolation.ts';

/** The archive of a release, unpacked into an empty folder. */

const repository = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
const release = join(folder, `svc-${version}`);
const read = (path: string): string => readFileSync(join(release, path), 'utf8');

let artefacts: Artefact[];
let bundled: Bundle;
let files: string[];
before(async () => {
  bundled = await bundle();
  artefacts = buildReleaseOf(bundled, await buildPackages());
  for (const { name, content } of artefacts) writeFileSync(join(folder, name), content);
  execFileSync('tar', ['xzf', join(folder, `svc-${version}.tar.gz`), '-C', folder]);
  files = globSync('**', { cwd: release }).filter((path) => statSync(join(release, path)).isFile());
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the archive of a release', () => {
  it('has the same bytes when it is built again', async () => {
    const again = await buildRelease();
    for (const [index, { name, content }] of again.entries()) {
      assert.ok(content.equals(artefacts[index]?.content ?? Buffer.alloc(0)), name);
    }
  });

  it('contains JavaScript and no TypeScript', () => {
    assert.deepEqual(
      files.filter((path) => /\.[cm]?tsx?$/.test(path)),
      [],
    );
  });

  it('contains no package but those with machine code or fonts', () => {
    const installed = readdirSync(join(release, 'node_modules')).toSorted();
    assert.deepEqual(installed, ['@fontsource-variable', '@img', 'detect-libc', 'harfbuzzjs', 'semver', 'sharp']);
  });

  it('leaves out the packages of Fastify that the service does not use', () => {
    const unused = /node_modules\/(ajv|light-my-request|@fastify\/(ajv|fast-json-stringify)-compiler)$/;
    assert.deepEqual(
      bundled.packageFolders.filter((path) => unused.test(path)),
      [],
    );
  });

  it('has the license, the guides and the files for operators', () => {
    for (const path of ['LICENSE', 'NOTICE', 'SECURITY.md', 'CHANGELOG.md', 'docs/self-hosting.md', 'bin/svc'])
      assert.ok(files.includes(path), path);
  });

  it('lists the checksum of every file', () => {
    const listed = new Map(
      read('SHA256SUMS')
        .trimEnd()
        .split('\n')
        .map((line) => [line.slice(66), line.slice(0, 64)]),
    );
    const found = files.filter((path) => path !== 'SHA256SUMS').toSorted();
    assert.deepEqual([...listed.keys()].toSorted(), found);
    for (const path of found) {
      const sum = createHash('sha256')
        .update(readFileSync(join(release, path)))
        .digest('hex');
      assert.equal(listed.get(path), sum, path);
    }
  });

  it('is smaller than 75 MB, of which fonts are a third', () => {
    const bytes = files.reduce((total, path) => total + statSync(join(release, path)).size, 0);
    assert.ok(bytes < 75e6, `${bytes}`);
  });
});

describe('the bill of materials', () => {
  it('is valid CycloneDX', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    const ofPackages = [...globSync('dist/packages/*.tgz', { cwd: release })].map((path) =>
      execFileSync('tar', ['xzOf', join(release, path), 'package/sbom.cdx.json'], { encoding: 'utf8' }),
    );
    const beside = artefacts.filter(({ name }) => name.endsWith('.cdx.json')).map(({ content }) => content.toString());
    assert.deepEqual([ofPackages.length, beside.length], [3, 2]);
    for (const bill of [read('sbom.cdx.json'), ...ofPackages, ...beside]) {
      assert.equal(await validator.validate(bill), null);
    }
  });

  it('of the image adds Node and the image that the Dockerfile names', () => {
    const bill = artefacts.find(({ name }) => name.endsWith('-image.cdx.json'))?.content.toString() ?? '';
    const { components } = JSON.parse(bill) as { components: { purl: string }[] };
    const purls = components.map(({ purl }) => purl);
    const { components: ofRelease } = JSON.parse(read('sbom.cdx.json')) as { components: { purl: string }[] };
    const added = purls.filter((purl) => !ofRelease.some((each) => each.purl === purl));
    const node = /FROM node:([\d.]+)/.exec(read('Dockerfile'))?.[1];
    assert.deepEqual(added, [`pkg:generic/node@${node}`, 'pkg:docker/debian@bookworm-slim']);
  });

  it('names every package of which the release contains code', () => {
    const { components } = JSON.parse(read('sbom.cdx.json')) as { components: { name: string; version: string }[] };
    const listed = new Set(components.map((each) => `${each.name}@${each.version}`));
    const inRelease = globSync('node_modules/{*,@*/*}/package.json', { cwd: release }).map((path) =>
      join(release, path),
    );
    const inBundle = bundled.packageFolders.map((path) => join(repository, path, 'package.json'));
    const inDashboard = ['react', 'react-dom', 'uqr'].map((name) =>
      join(repository, 'dashboard/node_modules', name, 'package.json'),
    );
    for (const file of [...inRelease, ...inBundle, ...inDashboard]) {
      const found = JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string };
      assert.ok(listed.has(`${found.name}@${found.version}`), file);
    }
  });
});

it('NOTICE names what a release contains; npm run release -- --notice writes it', () => {
  assert.equal(readFileSync(join(repository, 'NOTICE'), 'utf8'), notice(shippedPackages(bundled)));
});

it('every package has the version and the license of the release', () => {
  const packages = globSync('{,server/,cli/,dashboard/,sdk/*/,tools/,tests/generators/}package.json', {
    cwd: repository,
  });
  assert.equal(packages.length, 8);
  for (const path of packages) {
    const found = JSON.parse(readFileSync(join(repository, path), 'utf8')) as Record<string, unknown>;
    assert.deepEqual([found.version, found.license], [version, 'Apache-2.0'], path);
  }
  for (const path of globSync('{docs,sdk/node}/*.md', { cwd: repository })) {
    for (const [, named] of readFileSync(join(repository, path), 'utf8').matchAll(/svc-payments-node-(.*?)\.tgz/g))
      assert.equal(named, version, path);
  }
});

/** Buys something with curl, then looks at the pages, at an image, at the command line and at the rights of the process. */
const purchase = `
set -eu
export SVC_DATA_DIR=/data PORT=8080 SVC_LOG_LEVEL=trace SVC_MAX_EVENT_LOOP_DELAY_MS=0
svc=/opt/svc/bin/svc
$svc start > /data/out 2> /data/err & pid=$!
ready() { [ -s /data/demo.json ] && curl -sf http://127.0.0.1:8080/readyz > /dev/null; }
for _ in $(seq 300); do ready && break; kill -0 $pid || { cat /data/err; exit 1; }; sleep 0.1; done
key=$(sed -n 's/.*"secret_key": *"\\([^"]*\\)".*/\\1/p' /data/demo.json)
send() { path=$1; shift; curl -s "http://127.0.0.1:8080$path" -H "Authorization: Bearer $key" -H "X-SVC-Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" "$@"; }
id() { sed 's/.*"id":"\\([^"]*\\)".*/\\1/'; }
json='Content-Type: application/json'
customer=$(send /v1/customers -H "$json" -d '{"email":"sam@example.com","first_name":"Sam","last_name":"Poe","phone":"+15557654321"}' | id)
product=$(send /v1/products -H "$json" -d '{"name":"Kettle","description":"1.5 l","pricing":{"amount":3900,"currency":"usd"},"requires_shipping":true,"sku":"kettle-2"}' | id)
send /capture -H "$json" -d '{"customer_id":"'$customer'","card":{"number":"4242424242424242","exp_month":"12","exp_year":"2030","cvc":"999"}}' > /dev/null
order=$(send /v1/orders -H "$json" -d '{"customer_id":"'$customer'","items":[{"product_id":"'$product'","quantity":1}]}')
echo "order $order"
receipt=$(send "/v1/orders/$(echo "$order" | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')/receipt" | sed 's/.*"url":"\\([^"]*\\)".*/\\1/')
echo "receipt $(curl -s -o /data/receipt.pdf -w '%{http_code} %{content_type}' "$receipt")"
echo "image $(send /v1/products/$product/images -F file=@/opt/svc/docs/pictures/dashboard-home.png)"
for path in / /docs /docs/api/ /docs/api/orders /docs/docs.js /docs/search.json /logo /fonts/inter-latin-5.3.0.woff2 /svc.js /card-fields.js /card-fields /openapi.json /docs/sdk /sdk/svc.mjs /sdk/svc-payments-node-${version}.tgz; do
  echo "page $path $(curl -s -o /dev/null -w '%{http_code}' -H 'Accept: text/html' http://127.0.0.1:8080$path)"
done
curl -sO --output-dir /data http://127.0.0.1:8080/sdk/svc.mjs
echo "merchant $(cd /data && SVC_URL=http://127.0.0.1:8080 SVC_KEY=$key /node/node svc.mjs get '/v1/products?limit=1' | tr -d '\\n ')"
echo "cached $(curl -sI http://127.0.0.1:8080/sdk/svc-payments-node-${version}.tgz | grep -i '^cache-control')"
echo "cli $($svc keys list --company demo --json | tr -d '\\n ')"
echo "user $(/usr/bin/id -u)"
touch /opt/svc/written 2> /dev/null && echo "wrote to the code"
echo "interfaces $(sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev | tr '\\n' ' ')"
kill -TERM $pid && wait $pid && echo "stopped well"
grep -h bytecode /data/err || true
grep -h 'unknown setting' /data/out /data/err || true
`;

describe('a release in an empty root, as another user, without a network', { skip: missingForIsolation() }, () => {
  it('takes a paid order, serves its pages and stops, from a read-only folder', async (context) => {
    for (const { path, content, link, executable } of extraFiles().filter(({ path }) =>
      path.startsWith('node_modules/'),
    )) {
      const file = join(release, path);
      mkdirSync(dirname(file), { recursive: true });
      if (link === undefined) writeFileSync(file, content, { mode: executable ? 0o755 : 0o644 });
      else execFileSync('ln', ['-s', link, file]);
    }
    const data = mkdtempSync(join(folder, 'data-'));
    chownSync(data, isolatedUser, isolatedUser);
    const { stdout, stderr } = await runIsolated({ readOnly: release, at: '/opt/svc', data, script: purchase });
    const said = (word: string): string =>
      stdout
        .split('\n')
        .filter((line) => line.startsWith(`${word} `))
        .map((line) => line.slice(word.length + 1))
        .join('\n');
    const diagnosis = `${stdout}\n${stderr}`;
    assert.match(said('order'), /"status":"succeeded"/, diagnosis);
    assert.equal(said('receipt'), '200 application/pdf', diagnosis);
    assert.match(said('image'), /"url":/, diagnosis);
    for (const line of said('page').split('\n')) assert.match(line, / 200$/, line);
    assert.match(said('cli'), /secret/, diagnosis);
    assert.match(said('merchant'), /"data":\[\{"id"/, diagnosis);
    assert.match(said('cached'), /immutable/, diagnosis);
    assert.match(stdout, /stopped well/, diagnosis);
    assert.doesNotMatch(stdout, /wrote to the code|bytecode|unknown setting/, diagnosis);
    assert.match(said('interfaces'), /^ ?(lo ?)+$/, diagnosis);
    const startedIn = /"svc.started_in_ms":\d+/.exec(readFileSync(join(data, 'out'), 'utf8'))?.[0];
    context.diagnostic(`user ${said('user')}, ${startedIn}`);
  });
});
