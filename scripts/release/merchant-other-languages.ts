import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { packageNames, publishedNames } from '../../server/package-names.ts';
import { publisher } from '../../server/publisher.ts';
import { readJson, readReleaseFile, type ReleaseFile, root, textFile } from './files.ts';
import { archive } from './tar.ts';
import { zip } from './zip.ts';

/** The SDKs for Python and Go, written without either of them: a wheel, a source archive, and the zip of a Go module. */

export interface OtherPackage {
  readonly file: ReleaseFile;
  readonly name: string;
  readonly about: string;
  readonly install: string;
  /** For Go: what its module proxy answers besides the zip. */
  readonly module?: { readonly path: string; readonly version: string; readonly mod: string };
}

const { version } = readJson('package.json') as { version: string };
const summary =
  'The payments API for servers: every operation typed, retried where that is safe, and webhooks verified.';
// As for the npm packages.
const packedAt = Date.UTC(1985, 9, 26, 8, 15) / 1_000;

function filesIn(folder: string, ...patterns: string[]): ReleaseFile[] {
  return globSync(patterns, { cwd: `${root}/${folder}`, exclude: (path) => path.includes('__pycache__') })
    .toSorted()
    .map((path) => readReleaseFile(`${folder}/${path}`, path))
    .map(({ path, content }) => textFile(path, publishedNames(content.toString())));
}

const addresses = [
  publisher.homepage && `Project-URL: Homepage, ${publisher.homepage}\n`,
  publisher.repository && `Project-URL: Repository, ${publisher.repository}\n`,
  publisher.issues && `Project-URL: Issues, ${publisher.issues}\n`,
].filter(Boolean);

function pythonMetadata(): string {
  const project = readReleaseFile('sdk/python/pyproject.toml').content.toString();
  const [, needed = ''] = /^dependencies = \[(.*)\]$/m.exec(project) ?? [];
  const dependencies = [...needed.matchAll(/"([^"]+)"/g)].map(([, one]) => `Requires-Dist: ${one}\n`);
  const fields = [
    `Metadata-Version: 2.4\nName: ${packageNames.python}\nVersion: ${version}\nSummary: ${summary}\n`,
    'License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.10\n',
    ...addresses,
    ...dependencies,
    'Description-Content-Type: text/markdown\n\n',
  ];
  return fields.join('') + publishedNames(readReleaseFile('sdk/python/README.md').content.toString());
}

export function pythonPackages(): OtherPackage[] {
  const { pythonFile: folder } = packageNames;
  const info = `${folder}-${version}.dist-info`;
  const own = filesIn(
    'sdk/python',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'pyproject.toml',
    'src/svc_payments/**/*.{py,typed}',
  );
  const code = own
    .filter(({ path }) => path.startsWith('src/'))
    .map((one) => ({ ...one, path: one.path.slice('src/'.length) }));
  const metadata = textFile(`${info}/METADATA`, pythonMetadata());
  const documents = own
    .filter(({ path }) => path === 'LICENSE' || path === 'CHANGELOG.md')
    .map((one) => ({ ...one, path: `${info}/licenses/${one.path}` }));
  const wheelFile = textFile(
    `${info}/WHEEL`,
    'Wheel-Version: 1.0\nGenerator: svc\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  );
  const files = [...code, metadata, wheelFile, ...documents];
  const lines = files.map(({ path, content }) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${path},sha256=${hash},${content.length}\n`;
  });
  const recorded = textFile(`${info}/RECORD`, `${lines.join('')}${info}/RECORD,,\n`);
  const sources = [...own, textFile('PKG-INFO', metadata.content.toString())];
  const both = { name: packageNames.python, install: 'pip install {url}' };
  return [
    {
      ...both,
      about: summary,
      file: { path: `${folder}-${version}-py3-none-any.whl`, content: zip([...files, recorded]) },
    },
    {
      ...both,
      about: 'The sources of the Python SDK.',
      file: { path: `${folder}-${version}.tar.gz`, content: archive(`${folder}-${version}`, sources, packedAt) },
    },
  ];
}

export function goPackage(): OtherPackage {
  const files = filesIn('sdk/go', '*.go', 'go.mod', 'LICENSE', 'README.md', 'CHANGELOG.md');
  const mod = files.find(({ path }) => path === 'go.mod')?.content.toString() ?? '';
  const { go: goModule, goHost } = packageNames;
  const start = `${goModule}@v${version}`;
  const content = zip(files.map((one) => ({ ...one, path: `${start}/${one.path}` })));
  return {
    file: { path: `svc-payments-go-${version}.zip`, content },
    name: goModule,
    about: summary,
    install: `GOPROXY={base}/sdk/go GONOSUMDB=${goHost} go get ${goModule}@v${version}`,
    module: { path: goModule, version: `v${version}`, mod },
  };
}
