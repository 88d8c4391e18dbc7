import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJson, readReleaseFile, type ReleaseFile, root, textFile } from './files.ts';
import { goPackage, pythonPackages } from './merchant-other-languages.ts';
import { billOfMaterials } from './sbom.ts';
import { archive } from './tar.ts';
import { bundleCommand } from './merchant-command.ts';

/**
 * Builds what an installation offers to merchants: the SDKs for Node, browsers, Python and Go, and the `svc` command as a package and as one file.
 * The bytes depend on the sources only.
 */

export interface Packages {
  /** The files to serve, and `index.json`, which lists them. */
  readonly files: readonly ReleaseFile[];
  /** What they were built from, relative to the repository. */
  readonly sources: readonly string[];
}

/** One line of `index.json`, which `server/pages/sdk.ts` reads. `{url}` is the address of the file. */
interface Listed {
  readonly file: string;
  readonly name: string;
  readonly about: string;
  /** `{url}` is the address of the file, `{base}` that of the installation. */
  readonly install: string;
}

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

// The time that npm gives to the files of its packages.
const packedAt = Date.UTC(1985, 9, 26, 8, 15) / 1_000;

export async function buildPackages(): Promise<Packages> {
  const command = await bundleCommand();
  const program = textFile('svc.mjs', command.text, true);
  const packed = [
    pack('sdk/node', built('sdk/node'), 'npm install {url}'),
    pack('sdk/browser', built('sdk/browser'), 'npm install {url}'),
    pack('cli', [program], 'npm install --global {url}', { bin: { svc: './svc.mjs' } }),
  ];
  const listed = [
    ...packed,
    {
      file: program,
      name: 'svc.mjs',
      about: 'The svc command in one file. It needs Node 20 or newer and nothing else.',
      install: 'curl -fsSO {url}',
    },
    ...pythonPackages(),
    goPackage(),
  ];
  const { version } = readJson('package.json') as PackageJson;
  const entries = listed.map(({ file: { path, content }, ...rest }) => ({
    file: path,
    ...rest,
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  }));
  const index = textFile('index.json', `${JSON.stringify({ version, files: entries }, null, 2)}\n`);
  return { files: [...listed.map(({ file }) => file), index], sources: sourcesOf(command.sources) };
}

/** The files that `build.ts` of a package creates. */
function built(folder: string): ReleaseFile[] {
  const output = mkdtempSync(join(tmpdir(), 'svc-package-'));
  try {
    execFileSync(process.execPath, [join(root, folder, 'build.ts'), output], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return globSync('**', { cwd: output })
      .filter((path) => lstatSync(join(output, path)).isFile())
      .map((path) => ({ path: `dist/${path}`, content: readFileSync(join(output, path)) }));
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** A package as `npm pack` would write it, without its scripts, which need the sources. */
function pack(
  folder: string,
  content: readonly ReleaseFile[],
  install: string,
  changed: object = {},
): Omit<Listed, 'file'> & { readonly file: ReleaseFile } {
  const {
    scripts: _,
    private: __,
    ...fields
  } = readJson(`${folder}/package.json`) as PackageJson & Record<string, unknown>;
  const { name, version, description } = fields;
  const files = [
    textFile('package.json', `${JSON.stringify({ ...fields, ...changed }, null, 2)}\n`),
    readReleaseFile(`${folder}/LICENSE`, 'LICENSE'),
    readReleaseFile(`${folder}/README.md`, 'README.md'),
    // It has no components: the packages contain no code of others.
    textFile('sbom.cdx.json', billOfMaterials({ type: 'library', name, version }, [], packedAt)),
    ...content,
  ];
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
  return {
    file: { path: file, content: archive('package', files, packedAt) },
    name,
    about: description,
    install,
  };
}

function sourcesOf(command: readonly string[]): string[] {
  const own = [
    'sdk/{node,browser}/{*.ts,*.json,README.md,LICENSE,src/**}',
    'cli/{package.json,README.md,LICENSE}',
    'sdk/python/{pyproject.toml,*.md,LICENSE,src/**/*.{py,typed}}',
    'sdk/go/{*.go,go.mod,*.md,LICENSE}',
    'server/{publisher.json,package-names.ts}',
  ];
  const files = globSync([...own, 'scripts/release/{merchant-*,files,sbom,tar,zip}.ts', 'tsconfig.json'], {
    cwd: root,
  });
  return [...new Set([...files, ...command, 'cli/operator-commands.ts'])]
    .filter((path) => !path.endsWith('.test.ts') && lstatSync(join(root, path)).isFile())
    .toSorted();
}
