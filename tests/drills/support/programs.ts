import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian does not put the programs of the PostgreSQL server on the PATH. The newest version comes first. */
const serverFolders = globSync('/usr/lib/postgresql/*/bin').toSorted((one, other) =>
  other.localeCompare(one, 'en', { numeric: true }),
);

export const programPath = [process.env.PATH ?? '', '/usr/sbin', ...serverFolders].join(delimiter);

/** Returns the file of a program; undefined if it is missing. */
export function findProgram(program: string, path = programPath): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
