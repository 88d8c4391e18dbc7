import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The files that a generator writes into a folder of its own. */

export interface Generated {
  readonly folder: string;
  readonly files: ReadonlyMap<string, string>;
  /** What the folder can contain besides, as a pattern of files that belong to the generator. */
  readonly pattern: string;
}

const read = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8');

/** Files that are missing, obsolete or outdated. */
export function outdatedIn({ folder, files, pattern }: Generated): string[] {
  const present = globSync(pattern, { cwd: folder });
  const changed = [...files].filter(([name, text]) => !present.includes(name) || read(folder, name) !== text);
  return [...changed.map(([name]) => name), ...present.filter((name) => !files.has(name))];
}

export function writeGenerated({ folder, files, pattern }: Generated): void {
  for (const name of globSync(pattern, { cwd: folder })) rmSync(join(folder, name));
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
