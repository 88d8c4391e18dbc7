import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../../tests/support/service.ts';

interface Listed {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly size: number;
  readonly sha256: string;
  readonly install: string;
}

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'svc-merchant-'));
let service: TestService;
let listed: readonly Listed[];
before(async () => {
  service = await startTestService();
  const reply = await fetch(`${service.baseUrl}/sdk`);
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  listed = ((await reply.json()) as { data: Listed[] }).data;
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

const fileAt = (ending: string): Listed => {
  const found = listed.find(({ url }) => url.endsWith(ending));
  assert.ok(found, ending);
  return found;
};

/** The name of the installation in tests has no address. */
const get = ({ url }: Listed, options: RequestInit = {}): Promise<Response> =>
  fetch(service.baseUrl + new URL(url).pathname, options);

/** As a merchant gets it, into an empty folder. */
async function download(listing: Listed): Promise<string> {
  const file = join(folder, listing.url.split('/').at(-1) ?? '');
  writeFileSync(file, Buffer.from(await (await get(listing)).arrayBuffer()));
  return file;
}

describe('/sdk', () => {
  it('lists the packages with their checksums and how to install them from this installation', async () => {
    assert.equal(listed.length, 7);
    for (const each of listed) {
      const { url, sha256, size, install, version } = each;
      const byName = `GOPROXY=http://service.test/sdk/go GONOSUMDB=svc-payments.internal go get svc-payments.internal/go@v${version}`;
      assert.ok(url.startsWith('http://service.test/sdk/'), url);
      assert.ok(install.endsWith(` ${url}`) || install === byName, install);
      assert.ok(url.endsWith('/svc.mjs') || url.includes(version), url);
      const reply = await get(each);
      const content = Buffer.from(await reply.arrayBuffer());
      assert.deepEqual([createHash('sha256').update(content).digest('hex'), content.length], [sha256, size]);
    }
    const page = await fetch(`${service.baseUrl}/sdk`, { headers: { accept: 'text/html' } });
    assert.ok(page.url.endsWith('/docs/sdk'));
    const text = await page.text();
    for (const { install, sha256 } of listed) assert.ok(text.includes(install) && text.includes(sha256), install);
    const reference = await (await fetch(`${service.baseUrl}/docs/api/`)).text();
    assert.ok(reference.replaceAll(/<[^>]+>/g, '').includes(fileAt('.tgz').install));
  });

  it('sends each file with its type, for HEAD too, and not again to a client that has it', async () => {
    const types = { 'svc.mjs': /^text\/javascript/, '.tgz': /^application\/gzip$/, '.whl': /^application\/zip$/ };
    for (const [ending, type] of Object.entries(types)) {
      const listing = fileAt(ending);
      const head = await get(listing, { method: 'HEAD' });
      const etag = head.headers.get('etag') ?? '';
      assert.match(head.headers.get('content-type') ?? '', type);
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(listing.size)]);
      assert.equal(head.headers.get('content-encoding'), null);
      assert.equal(head.headers.get('x-content-type-options'), 'nosniff');
      // The sources can change under the same version.
      assert.equal(head.headers.get('cache-control'), 'no-cache');
      assert.equal((await get(listing, { headers: { 'if-none-match': etag } })).status, 304);
    }
  });

  it('is a proxy for the module of the Go SDK, and for no other', async () => {
    const { version } = fileAt('.zip');
    const module = `${service.baseUrl}/sdk/go/svc-payments.internal/go`;
    const text = async (path: string): Promise<string> => (await fetch(module + path)).text();
    assert.equal(await text('/@v/list'), `v${version}\n`);
    for (const path of ['/@latest', `/@v/v${version}.info`]) {
      assert.deepEqual(JSON.parse(await text(path)), { Version: `v${version}` });
    }
    assert.match(await text(`/@v/v${version}.mod`), /^module svc-payments\.internal\/go\n/);
    const zip = Buffer.from(await (await fetch(`${module}/@v/v${version}.zip`)).arrayBuffer());
    assert.equal(createHash('sha256').update(zip).digest('hex'), fileAt('.zip').sha256);
    for (const path of ['/@v/v9.9.9.zip', '/@v/', '2/@v/list', '/../../../package.json']) {
      assert.equal((await fetch(module + path)).status, 404, path);
    }
  });

  it('serves no other file', async () => {
    const { port } = new URL(service.baseUrl);
    const paths = [
      'index.json',
      'sources.json',
      '..%2f..%2fpackage.json',
      '../../package.json',
      '.built',
      'constructor',
    ];
    for (const path of [...paths, '%2e%2e/%2e%2e/package.json', 'svc.mjs%00.tgz', 'svc.mjs/']) {
      // fetch would resolve the dots itself.
      const answer = await new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), '127.0.0.1', () =>
          socket.write(`GET /sdk/${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        );
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        socket.on('end', () => resolve(text)).on('error', reject);
      });
      assert.match(answer, /^HTTP\/1\.1 40[04] /, path);
    }
  });
});

describe('svc.mjs', () => {
  it('runs with Node alone, in an empty folder, against the service it came from', async () => {
    const program = await download(fileAt('/svc.mjs'));
    const environment = { PATH: process.env.PATH, SVC_URL: service.baseUrl, SVC_KEY: service.key };
    const svc = async (...words: string[]): Promise<string> =>
      (await run(process.execPath, [program, ...words], { cwd: folder, env: environment })).stdout;
    assert.match(await svc('--help'), /listen .*\n.*trigger EVENT/);
    assert.doesNotMatch(await svc('--help'), /doctor|DATABASE_URL|\n\nService/);
    assert.deepEqual((JSON.parse(await svc('get', '/v1/customers')) as { data: unknown }).data, []);
    assert.match(await svc('clock', '--json'), /"now"/);
    assert.match(await svc('completion', 'bash'), /complete -o default -F _svc svc/);
    const failed = await svc('keys', 'create').catch(({ stderr }: { stderr: string }) => stderr);
    assert.equal(failed, 'svc keys create needs the database of the service. Run it on a machine of the service.\n');
  });
});

describe('a package', () => {
  it('has its license and nothing that needs the sources', async () => {
    for (const ending of ['node-', 'browser-', 'cli-']) {
      const found = listed.find(({ url }) => url.includes(`/svc-payments-${ending}`));
      assert.ok(found, ending);
      const file = await download(found);
      const list = (await run('tar', ['tzf', file])).stdout.trimEnd().split('\n');
      for (const name of ['package/LICENSE', 'package/README.md']) assert.ok(list.includes(name), name);
      const text = (await run('tar', ['xzOf', file, 'package/package.json'])).stdout;
      const { name, version, scripts, ...fields } = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual([name, version, scripts], [found.name, found.version, undefined]);
      const named =
        JSON.stringify([fields.bin, fields.exports, fields.types]).match(/\.\/(dist\/)?[\w./-]+(?=")(?!":)/g) ?? [];
      for (const path of named) assert.ok(list.includes(path.replace('.', 'package')), path);
    }
  });
});
