import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.ts';
import { recordRelease } from './record-release.ts';
import { buildExtras, buildRelease, sumsOf } from './release/artefact.ts';
import { bundle } from './release/bundle.ts';
import { root } from './release/files.ts';
import { notice, shippedPackages } from './release/packages.ts';

const { values } = readCommandLine({
  name: 'npm run release',
  summary: 'Builds the archives of this version, with their checksums.',
  options: {
    record: { type: 'text', describe: 'Records the migrations of this version instead, before it is released.' },
    notice: { type: 'flag', describe: 'Writes the file NOTICE instead.' },
    out: { type: 'text', default: join(root, 'dist', 'release'), describe: 'The folder for the archives.' },
    'without-extras': { type: 'flag', describe: 'Builds no archive with Node and PostgreSQL.' },
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
