import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export type Settings = Record<string, string>;

const defaults: Settings = {
  autovacuum: 'on',
  jit: 'off',
  // Otherwise the log would quote a rejected row, including email addresses.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_timezone: 'UTC',
  max_connections: '100',
  password_encryption: 'scram-sha-256',
  shared_buffers: '128MB',
  timezone: 'UTC',
};

/** Returns the PostgreSQL settings of a cluster: our defaults, overridden by the requested ones. */
export async function clusterSettings(nativeFolder: string, overrides: Settings): Promise<Settings> {
  const wal_compression = (await bundlesLz4(nativeFolder)) ? 'lz4' : 'off';
  return { ...defaults, wal_compression, ...overrides };
}

/** The packages include every library that the server is linked with, in `bin` on Windows and in `lib` elsewhere. */
async function bundlesLz4(nativeFolder: string): Promise<boolean> {
  const names = await Promise.all(['bin', 'lib'].map((folder) => readdir(join(nativeFolder, folder))));
  return names.flat().some((name) => name.startsWith('liblz4'));
}
