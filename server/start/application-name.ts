import { hostname } from 'node:os';
import type { PoolName } from '../observation/gauges.ts';
import { version } from '../version.ts';

/** PostgreSQL cuts longer names. */
const lengthMax = 63;

/**
 * The name of the connections in `pg_stat_activity`. One pool of each process carries its version and roles, from which
 * `svc status` lists the running processes without a table of its own.
 */
export function applicationName(pool: PoolName, roles: readonly string[]): string {
  const isFirst = pool === 'requests' || (pool === 'vault' && roles.every((role) => role === 'vault'));
  if (!isFirst) return `svc ${pool}`;
  return `svc/${version} ${roles.join(',')} ${process.pid}@${hostname()}`.slice(0, lengthMax);
}

export interface RunningProcess {
  readonly version: string;
  readonly roles: string;
  /** Process id and host name. */
  readonly process: string;
}

/** Reads such a name; undefined for any other. */
export function processOf(name: string): RunningProcess | undefined {
  const [, found = '', roles = '', process = ''] = /^svc\/(\S+) ([a-z,]+) (\d+@.*)$/.exec(name) ?? [];
  return found ? { version: found, roles, process } : undefined;
}
