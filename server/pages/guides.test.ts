import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { after, before, test } from 'node:test';
import { Marked } from 'marked';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { dashboardErrors, docUrlOf, type ErrorCode, errorCatalogue } from '../errors.ts';
import { findEntries, type SearchEntry } from '../../pages/docs/ranking.ts';
import { groupsOf, readGuide, rendered } from './docs/guide-pages.ts';
import { merchantGuides } from './docs/guide-texts.ts';
import { highlighted } from './docs/highlight.ts';

const docs = new URL('../../docs/', import.meta.url);
const files = globSync('**/*.md', { cwd: docs });
const addresses = files.map((file) => `/docs/${file.replace(/(README)?\.md$/, '')}`.replace(/\/$/, ''));

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const pages = new Map<string, Promise<string>>();
const pageAt = (path: string): Promise<string> => {
  const known = pages.get(path);
  if (known) return known;
  const asked = fetch(service.baseUrl + path).then(async (reply) => {
    assert.equal(reply.status, 200, path);
    return reply.text();
  });
  pages.set(path, asked);
  return asked;
};
const linksOf = (html: string): string[] =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));

test('every guide and decision is served, and every link in it leads somewhere', async () => {
  for (const address of addresses) {
    for (const link of linksOf(await pageAt(address))) {
      if (link.startsWith('http')) continue;
      const { pathname, hash } = new URL(link, `${service.baseUrl}${address}`);
      const target = await pageAt(pathname);
      if (hash) assert.ok(target.includes(`id="${hash.slice(1)}"`), `${address} links to ${link}`);
    }
  }
});

test('no header of a table is empty: a screen reader would announce a column without a name', async () => {
  for (const address of addresses) assert.doesNotMatch(await pageAt(address), /<th[^>]*>\s*<\/th>/, address);
});

test('every error code has its paragraph, where `doc_url` of an error leads', async () => {
  const codes = Object.keys({ ...errorCatalogue, ...dashboardErrors });
  for (const code of codes) {
    const { pathname, hash, origin } = new URL(docUrlOf(service.baseUrl, code as ErrorCode));
    assert.equal(origin, service.baseUrl);
    const page = await pageAt(pathname);
    assert.equal(page.split(`id="${hash.slice(1)}"`).length, 2, code);
    const [, paragraph = ''] = page.split(`id="${hash.slice(1)}"`);
    assert.match(paragraph.split('<h')[0] ?? '', /<p>.{10,}/, code);
  }
  const refused = await service.call('GET', '/v1/orders', { key: null });
  const refusedBase = new URL(refused.body.error.doc_url).origin;
  assert.equal(refused.body.error.doc_url, docUrlOf(refusedBase, 'missing_api_key'));
});

test('every guide is served as markdown at its address with .md, and /llms.txt lists those of the index', async () => {
  for (const file of files) {
    const reply = await fetch(`${service.baseUrl}/docs/${file}`);
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/markdown; charset=utf-8'], file);
    const text = await reply.text();
    assert.match(text, /^(<!--.*-->\s+)?# /, file);
    assert.doesNotMatch(text, /^```\w+ /m, `${file} has no marks for the tests`);
  }
  const list = await (await fetch(`${service.baseUrl}/llms.txt`)).text();
  const listed = [...list.matchAll(/\]\((\S+\.md)\)/g)].map(([, address = '']) => new URL(address).pathname);
  assert.ok(listed.length > 20, list);
  assert.ok(listed.includes('/docs/quickstart.md'));
  for (const path of listed) assert.equal((await fetch(service.baseUrl + path)).status, 200, path);
  assert.equal((await fetch(`${service.baseUrl}/docs/decisions/../../package.json.md`)).status, 404);
  assert.equal((await fetch(`${service.baseUrl}/docs/nothing.md`)).status, 404);
});

test('a link to a file leads to one', () => {
  const dead = files.flatMap((file) =>
    [
      ...readFileSync(new URL(file, docs), 'utf8')
        .replaceAll(/^```[\s\S]*?^```/gm, '')
        .matchAll(/\]\((?!https?:|\/|#)([^)#\s]+)/g),
    ]
      .map(([, link = '']) => posix.join('docs', posix.dirname(file), link))
      .filter((target) => !existsSync(new URL(`../${target}`, docs)))
      .map((target) => `${file} links to ${target}`),
  );
  assert.deepEqual(dead, []);
});

/** What only a reader with the sources has, and names that another person could publish a package under. */
const needsTheSources =
  /~\/svc|\$HOME\/svc|npm (run|start|test)\b|npx (svc\b(?!`: npx would)|@svc-payments)|npm (install|i|exec) @svc-payments|\.\.\/sdk\//;

test('a guide for merchants needs nothing but the address of the installation, and names it', async () => {
  const paths = new Map(files.map((file) => [file.replace(/\.md$/, ''), file]));
  const guides = merchantGuides(groupsOf(new Marked().lexer(readGuide('README.md')), paths));
  assert.ok(guides.length > 15);
  const wrong = guides.flatMap((path) =>
    readGuide(`${path}.md`)
      .split('\n')
      .filter((line) => needsTheSources.test(line))
      .map((line) => `${path}: ${line}`),
  );
  assert.deepEqual(wrong, []);
  for (const path of guides) assert.ok(!(await pageAt(`/docs/${path}`)).includes('127.0.0.1:8080'), path);
  assert.ok((await pageAt('/docs/quickstart')).includes('http://service.test'));
});

test('each guide says what it is about and how long it takes', async () => {
  const paths = new Map(files.map((file) => [file.replace(/\.md$/, ''), file]));
  const all = groupsOf(new Marked().lexer(readGuide('README.md')), paths).flatMap(({ entries }) => entries);
  for (const { path } of all) {
    assert.match(await pageAt(`/docs/${path}`), /<\/h1>\n?<p class="lead">[^<]{8,}\. <span>\d+ min<\/span><\/p>/, path);
  }
});

test('the index lists every guide, and each page shows it beside the text', async () => {
  const html = await pageAt('/docs/cards');
  const listed = linksOf(html.slice(html.indexOf('<nav')));
  const guides = addresses.filter((address) => address !== '/docs' && !address.includes('/decisions/'));
  assert.deepEqual(
    guides.filter((guide) => !listed.includes(guide)),
    [],
  );
  assert.match(html, /<a href="\/docs\/cards" aria-current="page">/);
});

test('a page runs only the scripts of the service, and loads nothing from elsewhere', async () => {
  const { headers } = await fetch(`${service.baseUrl}/docs`);
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|http|data:/);
  for (const address of addresses) {
    const html = await pageAt(address);
    const scripts = html.match(/<script[^>]*>/g) ?? [];
    assert.ok(
      scripts.every((tag) => /^<script src="\/docs\/(docs|theme)\.js\?v=\w+"( defer)?>$/.test(tag)),
      address,
    );
    assert.doesNotMatch(html, /<script[^>]*>[^<]|<style| style=|\son\w+=/);
  }
});

test('a page has its headings beside it, and leads to the guides before and after it', async () => {
  const html = await pageAt('/docs/orders');
  const contents = html.slice(html.indexOf('<nav class="contents"'));
  assert.match(contents, /On this page[\s\S]*<a href="#statuses">Statuses<\/a>/);
  const neighbours = linksOf(
    html.slice(html.indexOf('<nav class="neighbours"'), html.indexOf('<nav class="contents"')),
  );
  assert.deepEqual(neighbours, ['/docs/authentication', '/docs/subscriptions']);
  const [first] = linksOf((await pageAt('/docs')).split('<nav class="neighbours"')[1] ?? '');
  assert.equal(first, '/docs/quickstart');
});

test('the search finds sections of guides, calls and events, at addresses that exist', async () => {
  const reply = await fetch(`${service.baseUrl}/docs/search.json`);
  const entries = (await reply.json()) as { title: string; detail: string; address: string; text: string }[];
  const addressesOf = (title: string): string[] =>
    entries.filter((entry) => entry.title === title).map(({ address }) => address);
  assert.deepEqual(addressesOf('Refund an order'), ['/docs/api/orders#refundOrder']);
  assert.deepEqual(addressesOf('order.succeeded'), ['/docs/api/webhook-events#order.succeeded']);
  assert.ok(addressesOf('Webhooks').includes('/docs/webhooks'));
  for (const address of new Set(entries.map((entry) => entry.address))) {
    const [path = '', hash] = address.split('#');
    const html = await pageAt(path);
    if (hash) assert.ok(html.includes(`id="${hash}"`), address);
  }
});

test('blocks that follow each other as tabs are joined, in the order of the text', () => {
  const text =
    '```sh run tab=curl\ncurl -s /\n```\n\n```js run tab=Node\nawait svc.get();\n```\n\nAfter.\n\n```sh\nls\n```';
  const { content } = rendered(new Marked(), text, 'here.md', new Map());
  assert.match(
    content,
    /^<div class="tabs"><div data-tab="curl">[\s\S]*<\/div><div data-tab="Node">[\s\S]*<\/div><\/div><p>After/,
  );
  assert.equal(content.match(/data-tab/g)?.length, 2);
});

test('a sample of a guide for Node is there for Python and Go too', () => {
  for (const file of files) {
    const tabs = [...readGuide(file).matchAll(/^```\w+ .*\btab=(\w+)$/gm)].map(([, name]) => name);
    const count = (wanted: string): number => tabs.filter((name) => name === wanted).length;
    assert.deepEqual([count('Python'), count('Go')], [count('Node'), count('Node')], file);
  }
});

test('colored code says the same as the code', () => {
  const samples = {
    sh: '# hi\nexport A="$B" C=${D} && curl -s \'x\' | jq .',
    js: 'const a = await f("<b>", `t`); // note',
    json: '{"a": [1, true, null, "<&>"]}',
    sql: "SELECT 'it''s' FROM t -- end",
    html: '<a href="x">text</a>',
    yaml: 'a: "b" # c',
    python: 'for one in f("<b>"): # note',
    go: 'for one, err := range f("<b>", `t`, nil) { // note',
    other: '<plain>',
  };
  for (const [language, code] of Object.entries(samples)) {
    const text = highlighted(code, language)
      .replaceAll(/<\/?span[^>]*>/g, '')
      .replaceAll(
        /&(lt|gt|amp|quot|#39);/g,
        (_, name: string) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[name] ?? "'",
      );
    assert.equal(text, code, language);
  }
  assert.match(
    highlighted('{"a": 1}', 'json'),
    /^\{<span class="c-name">&quot;a&quot;<\/span>: <span class="c-number">1</,
  );
});

for (const path of ['nothing', '../README', '..%2Fpackage.json', '%2e%2e/package', 'pictures/', 'api.md']) {
  test(`there is no guide at /docs/${path}`, async () => {
    const reply = await service.app.inject({ url: `/docs/${path}` });
    assert.equal(reply.statusCode, 404);
    assert.equal(reply.json().error.code, 'resource_not_found');
  });
}

test('HTML in a text is shown, not obeyed; links stay within the guides', () => {
  const text = [
    '# A <b>title</b>',
    'An <img src=x onerror=alert(1)> inline.',
    '<script>alert(1)</script>',
    '[guide](other.md#part), [source](../server/app.ts), [script](javascript:alert(1)), [up](../../../etc/passwd)',
    '```sh run\necho "<&>"\n```',
    '## Twice\n\n## Twice',
  ].join('\n\n');
  const { content } = rendered(new Marked(), text, 'here.md', new Map([['other', 'other.md']]));
  assert.doesNotMatch(content, /<script|<img|<b>/);
  assert.match(content, /&lt;script&gt;alert/);
  assert.match(content, /<a href="\/docs\/other#part">guide<\/a>/);
  assert.match(content, /source \(<code>server\/app.ts<\/code>\)/);
  assert.doesNotMatch(content, /href="(javascript|\.)/);
  assert.match(
    content,
    /<code class="language-sh"><span class="c-name">echo<\/span> <span class="c-text">&quot;&lt;&amp;&gt;&quot;/,
  );
  assert.match(content, /id="twice">[\s\S]*id="twice-1">/);
});

const searches: readonly (readonly [typed: string, first: string])[] = [
  ['refund partial', 'Refund an order'],
  ['partial refund', 'Refund an order'],
  ['refund', 'Refund an order'],
  ['how to refund an order', 'Refund an order'],
  ['refun', 'Refund an order'],
  ['webhook signature', 'Verify the signature'],
  ['verify webhook', 'Verify the signature'],
  ['test cards', 'Test cards'],
  ['idempotency key', 'Idempotency keys'],
  ['payment links', 'Payment links'],
  ['going live', 'Going live'],
  ['create customer', 'Create a customer'],
  ['cancel subscription', 'Cancel a subscription'],
  ['pause a subscription', 'Pause a subscription'],
  ['disputes', 'Disputes'],
  ['coupons', 'Coupons'],
  ['sandbox clock', 'The sandbox clock'],
  ['rate limits', 'Limits, permissions, versions'],
  ['errors', 'Errors'],
  ['restore backup', 'Restore a backup'],
  ['stripe', 'Stripe'],
  ['checkout session', 'Create a checkout session'],
  ['customer page', 'The customer page'],
  ['retry order', 'Retry a failed charge or refund'],
  ['upgrade', 'Upgrading'],
  ['configuration', 'Configuration'],
  ['create an order', 'Create an order and charge it'],
  ['list orders', 'List orders'],
  ['glossary', 'Glossary'],
  ['voucher', 'Coupons'],
  ['recurring', 'Subscriptions'],
  ['chargeback', 'Disputes'],
  ['invoice', 'Invoices'],
  ['reimburse an order', 'Refund an order'],
  ['callback', 'Webhooks'],
  ['invite a colleague', 'Invite a team member'],
  ['deploy', 'Self-hosting'],
  ['customer portal', 'The customer page'],
];

test('the search finds the page that is meant first', async () => {
  const reply = await fetch(`${service.baseUrl}/docs/search.json`);
  const entries = (await reply.json()) as SearchEntry[];
  const found = searches.map(([typed]) => [typed, findEntries(entries, typed)[0]?.title]);
  assert.deepEqual(found, searches);
  assert.deepEqual(findEntries(entries, 'xyzzy'), []);
});
