import { readFileSync } from 'node:fs';
import { type Publisher, publisher } from '../server/publisher.ts';

/** What every npm package has in common: its LICENSE, and the addresses of the publisher. `node scripts/reference.ts` writes both. */

export const packageFolders = ['cli', 'sdk/browser', 'sdk/node'] as const;

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** The fields of npm that contain an address. */
export function addressesFor(
  folder: string,
  { homepage, repository, issues }: Pick<Publisher, 'homepage' | 'repository' | 'issues'>,
): Record<string, unknown> {
  return {
    ...(homepage && { homepage }),
    ...(repository && { repository: { type: 'git', url: `git+${repository}.git`, directory: folder } }),
    ...(issues && { bugs: { url: issues } }),
  };
}

function packageJson(folder: string): string {
  const {
    homepage: _,
    repository: __,
    bugs: ___,
    name,
    version,
    license,
    ...rest
  } = JSON.parse(read(`${folder}/package.json`)) as Record<string, unknown>;
  const fields = { name, version, license, ...addressesFor(folder, publisher), ...rest };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

export const packageFiles: Readonly<Record<string, () => string>> = Object.fromEntries(
  packageFolders.flatMap((folder) => [
    [`${folder}/LICENSE`, () => read('LICENSE')],
    [`${folder}/package.json`, () => packageJson(folder)],
  ]),
);
