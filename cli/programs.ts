import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian and Red Hat keep the programs of each PostgreSQL in a folder of its own. The newest version comes first. */
export const postgresFolders: readonly string[] = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin']
  .flatMap((pattern) => globSync(pattern))
  .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }));

/** Returns the file of a program in the first of these folders that has it. */
export function findProgram(program: string, folders: readonly string[]): string | undefined {
  const name = process.platform === 'win32' ? `${program}.exe` : program;
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

export const pathFolders = (path: string = process.env.PATH ?? ''): string[] =>
  path.split(delimiter).filter((folder) => folder !== '');

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
