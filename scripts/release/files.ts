import { globSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A file of a release: its path in the archive and its content, or where it links to. */
export interface ReleaseFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable?: boolean;
  /** A symbolic link, relative to the folder of the file. */
  readonly link?: string;
}

export const textFile = (path: string, text: string, executable = false): ReleaseFile => ({
  path,
  content: Buffer.from(text),
  executable,
});

/** Files of the repository, at the same path in the release. */
export function filesOf(...patterns: string[]): ReleaseFile[] {
  return globSync(patterns, { cwd: root })
    .filter((path) => lstatSync(join(root, path)).isFile())
    .map((path) => readReleaseFile(path));
}

export function readReleaseFile(path: string, to = path): ReleaseFile {
  const file = join(root, path);
  return { path: to, content: readFileSync(file), executable: (lstatSync(file).mode & 0o100) !== 0 };
}

export const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
