import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import { readBrand } from './brand.ts';

let folder: string;
let service: TestService;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-brand-'));
  const logo = join(folder, 'logo.svg');
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  service = await startTestService({ settings: { SVC_BRAND_NAME: 'Pay & <Co>', SVC_BRAND_LOGO: logo } });
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

const read = (path: string): Promise<Response> =>
  fetch(service.baseUrl + path, { headers: { accept: 'text/html', 'accept-encoding': 'identity' } });

test('the pages show the name of the installation as text', async () => {
  for (const path of ['/', '/login', '/docs', '/docs/cards', '/docs/api/']) {
    const html = await (await read(path)).text();
    assert.ok(html.includes('Pay &amp; &lt;Co&gt;'), path);
    assert.doesNotMatch(html, /\{\{brand\}\}|<Co>/);
  }
});

test('the dashboard is given what happens to emails: sent, shown in the mailbox, or only stored', async () => {
  const smtp = { SMTP_URL: 'smtp://127.0.0.1:9', SVC_MAIL_FROM: 'pay@example.com' };
  const expected: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'mailbox'],
    [smtp, 'sent'],
    [{ SVC_BASE_URL: 'https://pay.example.com' }, 'stored'],
  ];
  for (const [settings, emails] of expected) {
    const one = await startTestService({ settings });
    try {
      const { body } = await one.app.inject({ method: 'GET', url: '/login', headers: { accept: 'text/html' } });
      assert.match(body, new RegExp(`<meta name="svc-emails" content="${emails}"`));
    } finally {
      await one.stop();
    }
  }
});

test('the logo of the installation is served as a picture that runs no script', async () => {
  const { headers } = await read('/logo');
  assert.equal(headers.get('content-type'), 'image/svg+xml');
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none';.* sandbox$/);
});

test('the font is smaller than 60 kB and is cached for a year', async () => {
  const html = await (await read('/docs')).text();
  const path = /href="(\/fonts\/[^"]+)"/.exec(html)?.[1] ?? '';
  const reply = await read(path);
  assert.equal(reply.status, 200, path);
  assert.equal(reply.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  const bytes = Buffer.from(await reply.arrayBuffer());
  assert.ok(bytes.subarray(0, 4).equals(Buffer.from('wOF2')) && bytes.length < 60_000, `${bytes.length} bytes`);
});

test('the pages of customers take font, text sizes and colors from the tokens of all pages', async () => {
  for (const name of ['checkout', 'customer']) {
    const css = await (await read(`/pages/${name}.css`)).text();
    const own = css.slice(css.indexOf('--page:'));
    const sizes = [...own.matchAll(/font(?:-size)?: ([^;]+);/g)].map(([, size = '']) => size);
    assert.ok(sizes.length > 10, name);
    assert.deepEqual(
      sizes.filter((size) => !/^(inherit|var\(--text-[a-z]+\)( \/ 1\.5 var\(--font\))?)$/.test(size)),
      [],
    );
    assert.doesNotMatch(own, /#[0-9a-f]{3,8}\b/i);
    assert.match(css, /url\("\.\.\/fonts\/inter-/);
  }
});

test('without settings, the name and the logo are ours', () => {
  const { name, logo } = readBrand({ SVC_BRAND_NAME: 'Svc', SVC_BRAND_LOGO: undefined });
  assert.deepEqual([name, logo.contentType], ['Svc', 'image/svg+xml']);
});

test('a logo that is missing, too large or no picture stops the start', async () => {
  const contents: readonly [text: string, problem: RegExp][] = [
    ['hello', /is neither an SVG nor a PNG file/],
    [`<svg>${' '.repeat(100_000)}</svg>`, /is larger than 100 kB/],
  ];
  const logoOf = (file: string) => () => readBrand({ SVC_BRAND_NAME: 'Svc', SVC_BRAND_LOGO: file });
  for (const [text, problem] of contents) {
    const file = join(folder, 'other');
    await writeFile(file, text);
    assert.throws(logoOf(file), (error) => error instanceof ConfigurationError && problem.test(error.message));
  }
  assert.throws(logoOf(join(folder, 'missing')), /SVC_BRAND_LOGO: the file .*missing cannot be read/);
  const picture = join(folder, 'picture.png');
  await writeFile(picture, Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1'));
  assert.equal(logoOf(picture)().logo.contentType, 'image/png');
});
