import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './release/files.ts';
import { buildPackages } from './release/merchant-packages.ts';

/** `node scripts/packages.ts`: builds the packages that the service serves. `scripts/install.mjs` runs it when they are outdated. */

const folder = join(root, 'dist', 'packages');
const { files, sources } = await buildPackages();
// A running service may read the folder that is there.
const fresh = `${folder}.${process.pid}`;
mkdirSync(fresh, { recursive: true });
for (const { path, content } of files) writeFileSync(join(fresh, path), content);
writeFileSync(join(fresh, 'sources.json'), `${JSON.stringify(sources, null, 2)}\n`);
rmSync(folder, { recursive: true, force: true });
renameSync(fresh, folder);
