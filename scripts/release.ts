import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { recordRelease } from './record-release.ts';
import { buildExtras, buildRelease, sumsOf } from './release/artefact.ts';
import { bundle } from './release/bundle.ts';
import { root } from './release/files.ts';
import { notice, shippedPackages } from './release/packages.ts';

/**
 * `npm run release`: builds the archives of this version with their checksums in dist/release. `--record 0.2.0` records the
 * migrations of a version instead, before it is released. `--notice` writes the file NOTICE instead. `--without-extras` builds no
 * archive with Node and PostgreSQL.
 */

const { values } = parseArgs({
  options: {
    record: { type: 'string' },
    notice: { type: 'boolean', default: false },
    out: { type: 'string', default: join(root, 'dist', 'release') },
    'without-extras': { type: 'boolean', default: false },
  },
});

if (values.record !== undefined) await recordRelease(values.record);
else if (values.notice) await writeFile(join(root, 'NOTICE'), notice(shippedPackages(await bundle())));
else await release(resolve(values.out), !values['without-extras']);

async function release(folder: string, withExtras: boolean): Promise<void> {
  const artefacts = [...(await buildRelease()), ...(withExtras ? [buildExtras()] : [])];
  await mkdir(folder, { recursive: true });
  for (const { name, content } of artefacts) {
    await writeFile(join(folder, name), content);
    console.log(`${(content.length / 1e6).toFixed(1).padStart(6)} MB  ${join(folder, name)}`);
  }
  const sums = sumsOf(artefacts.map(({ name, content }) => ({ path: name, content })));
  await writeFile(join(folder, 'SHA256SUMS'), sums);
}
