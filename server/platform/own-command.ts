import { existsSync } from 'node:fs';
import { programFolder } from './program-folder.ts';

/** How messages name the program: a release has a command, the sources are run with npm. */
interface OwnCommand {
  readonly start: string;
  /** What helps if files that belong to the program are missing. */
  readonly restoreFiles: string;
}

const inRelease: OwnCommand = { start: 'svc start', restoreFiles: 'Unpack the release again' };
const inSources: OwnCommand = { start: 'npm start', restoreFiles: 'Run `npm run build`' };

export const ownCommandIn = (folder: URL): OwnCommand =>
  existsSync(new URL('bin/svc', folder)) ? inRelease : inSources;

export const ownCommand: OwnCommand = ownCommandIn(programFolder);
