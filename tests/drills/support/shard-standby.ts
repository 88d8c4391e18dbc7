import { spawnSync } from 'node:child_process';
import { chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { type ChaosPostgres, openChaosPostgres } from '../../chaos/postgres.ts';
import { balance } from '../../support/local-cluster.ts';
import { until } from './probes.ts';

/** A synchronous standby of a server that is in use, and the failover to it. */

interface StandbyPlace {
  /** The folder of the server. */
  readonly from: string;
  readonly folder: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Copies the server while it runs, and waits until each of its commits waits for the standby. */
export async function startStandby(
  { connectionString }: Pick<ChaosPostgres, 'connectionString'>,
  { from, folder, port, settings }: StandbyPlace,
): Promise<ChaosPostgres> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('standby', true)`);
    const copy = await copyData(from, folder);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    const { uid, gid } = await stat(copy);
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      await writeFile(join(copy, name), text);
      await chown(join(copy, name), uid, gid);
    }
    const { username, password, port: primaryPort } = new URL(connectionString);
    const standby = await openChaosPostgres(folder, port, {
      settings: {
        ...settings,
        primary_conninfo: `host=127.0.0.1 port=${primaryPort} user=${username} password=${password}`,
      },
    });
    await standby.start();
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await client.query('SELECT pg_reload_conf()');
    await until(async () => {
      const found = await client.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`);
      return found.rows.length > 0;
    });
    return standby;
  } finally {
    await client.end();
  }
}

async function copyData(from: string, to: string): Promise<string> {
  await mkdir(to, { recursive: true });
  const { stderr } = spawnSync('cp', ['-a', join(from, 'postgres'), to], { encoding: 'utf8' });
  // A running server removes files meanwhile; its log says so to the standby.
  const problems = stderr.split('\n').filter((line) => line !== '' && !line.includes('No such file'));
  if (problems.length > 0) throw new Error(`cp: ${problems.join('\n')}`);
  const copy = join(to, 'postgres');
  await rm(join(copy, 'postmaster.pid'), { force: true });
  const slots = join(copy, 'pg_replslot');
  for (const slot of await readdir(slots)) await rm(join(slots, slot), { recursive: true });
  return copy;
}

/** The standby becomes the primary and is reached at the address of the server that was lost. */
export async function failOver(lost: ChaosPostgres, standby: ChaosPostgres): Promise<Server> {
  const client = new pg.Client({ connectionString: standby.connectionString });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT pg_promote() AS promoted');
    if (!rows[0].promoted) throw new Error('the standby was not promoted');
  } finally {
    await client.end();
  }
  const portOf = ({ connectionString }: ChaosPostgres): number => Number(new URL(connectionString).port);
  return balance(portOf(lost), [portOf(standby)]);
}
