import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { after, before, test } from 'node:test';
import { Marked } from 'marked';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { rendered } from './guides.ts';

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

test('a link to a file leads to one', () => {
  const dead = files.flatMap((file) =>
    [...readFileSync(new URL(file, docs), 'utf8').matchAll(/\]\((?!https?:|\/|#)([^)#\s]+)/g)]
      .map(([, link = '']) => posix.join('docs', posix.dirname(file), link))
      .filter((target) => !existsSync(new URL(`../${target}`, docs)))
      .map((target) => `${file} links to ${target}`),
  );
  assert.deepEqual(dead, []);
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

test('a page allows no script, and nothing from elsewhere', async () => {
  const { headers } = await fetch(`${service.baseUrl}/docs`);
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; style-src 'self'; img-src 'self';/);
  assert.doesNotMatch(policy, /script-src|unsafe|http/);
  for (const address of addresses) assert.doesNotMatch(await pageAt(address), /<script|<style| style=| on\w+=/);
});

for (const path of ['nothing', 'cards.md', '../README', '..%2Fpackage.json', '%2e%2e/package', 'pictures/', 'api.md']) {
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
  assert.match(content, /<code class="language-sh">echo &quot;&lt;&amp;&gt;&quot;/);
  assert.match(content, /id="twice">[\s\S]*id="twice-1">/);
});
