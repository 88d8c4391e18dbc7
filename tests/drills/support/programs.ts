import { delimiter } from 'node:path';
import { findProgram as findIn, pathFolders, postgresFolders } from '../../../cli/programs.ts';

/** Debian does not put the programs of the PostgreSQL server, nor those for administrators, on the PATH. */
export const programPath = [...pathFolders(), '/usr/sbin', ...postgresFolders].join(delimiter);

/** Returns the file of a program; undefined if it is missing. */
export const findProgram = (program: string, path = programPath): string | undefined =>
  findIn(program, pathFolders(path));
