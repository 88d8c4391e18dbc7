import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { publishedNames } from '../server/package-names.ts';

/** What the guides install: never a name in a public registry under which another person could publish a package. */

const root = fileURLToPath(new URL('..', import.meta.url));
const texts = globSync(['docs/**/*.md', 'sdk/*/README.md', 'examples/*/README.md', 'README.md'], { cwd: root });

/** Packages of others, which exist and are theirs. */
const ofOthers = new Set(['openapi-typescript', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen']);

const installers = [
  // A list of requirements names packages of others with their versions.
  /\bpip3? install (?:-r \S+ )?(?<what>[^`\n]+)/g,
  /\bnpm (?:install|i|exec|add) (?<what>[^`\n]+)/g,
  // npx svc runs the command of the sources, where these have it.
  /\b(?:npx|bunx|uvx|pipx run) (?<what>@[^`\n]+)/g,
  /\b(?:uv|poetry|yarn|pnpm|bun|deno) add (?<what>[^`\n]+)/g,
  /\bgo (?:get|install|run) (?<what>[^`\n]+)/g,
];

const isOwnPlace = (name: string): boolean =>
  /^"?(https?:|\$\w+\/|\.{0,2}\/|\.$|…|[A-Z]+$|[\w.-]+\.(?:txt|go)$)/.test(name) ||
  name.startsWith('svc-payments.internal/go@');

/** The packages that a text installs by a name which someone else could have. */
function namesIn(text: string): string[] {
  return installers
    .flatMap((installer) => [...text.matchAll(installer)])
    .flatMap(({ groups }) => (groups?.what ?? '').split(/\s+(?:&&|\||#)/)[0]?.split(/\s+/)[0] ?? [])
    .map((word) => word.replace(/^["'(]+|["').,:;]+$/g, ''))
    .filter((word) => word !== '' && !isOwnPlace(word) && !ofOthers.has(word.replace(/(?<=.)@.*$/, '')));
}

describe('package names in guides', () => {
  for (const file of texts) {
    it(`${file} installs only from an installation, a file or a name that is reserved`, () => {
      // Decisions explain names that the guides avoid; flags come before what is installed.
      if (file.includes('decisions/')) return;
      const text = readFileSync(`${root}/${file}`, 'utf8').replaceAll(/^```.*| --?(?!r )[a-z][\w-]*(?= )/gm, '');
      assert.deepEqual(namesIn(text), []);
    });
  }

  it('are found where another person could register them', () => {
    const wrong = [
      'pip install svc-payments',
      'npm install @svc-payments/node',
      'npx @svc-payments/cli listen',
      'uv add svc-payments',
    ];
    for (const line of [...wrong, 'go get payments.example.com/go@v1']) assert.equal(namesIn(line).length, 1, line);
    const right = [
      'pip install https://pay.example.com/sdk/a.whl',
      'npm install "$SVC_URL/sdk/a.tgz"',
      'go run .',
      'go run pay.go',
    ];
    for (const line of right) assert.deepEqual(namesIn(line), [], line);
  });

  it('become those of the publisher', () => {
    const names = { python_package: 'Acme.Payments', go_module: 'payments.acme.example/go' };
    const text = 'GONOSUMDB=svc-payments.internal go get svc-payments.internal/go@v1; svc_payments-1-py3-none-any.whl';
    assert.equal(
      publishedNames(`${text}; from svc_payments import Svc`, names),
      'GONOSUMDB=payments.acme.example go get payments.acme.example/go@v1; acme_payments-1-py3-none-any.whl; from svc_payments import Svc',
    );
    assert.equal(publishedNames('name = "svc-payments"', names), 'name = "Acme.Payments"');
    assert.equal(publishedNames(text, { python_package: null, go_module: null }), text);
  });
});
