import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApiError } from '../errors.ts';
import { ownCommand } from '../platform/own-command.ts';
import { programFolder } from '../platform/program-folder.ts';

const folder = fileURLToPath(new URL('dashboard/dist/', programFolder));

/** The path of a file that `npm run build` creates; undefined if there is none. */
export function builtFile(name: string): string | undefined {
  const file = join(folder, name);
  return existsSync(file) ? file : undefined;
}

export function notBuilt(): ApiError {
  return new ApiError(
    'service_unavailable',
    `The dashboard is missing. ${ownCommand.restoreFiles} and restart the service.`,
  );
}
