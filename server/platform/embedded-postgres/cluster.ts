import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigurationError } from '../configuration-error.ts';
import { errorCode } from '../error-code.ts';
import { type Account, serverAccount } from './account.ts';
import { usableNativeFolder } from './binaries.ts';
import { removeAbandoned, withBuildFolder } from './build-folder.ts';
import { superuser } from './connection.ts';
import { type ProgramContext, spawnOnFolder } from './programs.ts';
import { clusterSettings, type Settings } from './settings.ts';

/** A PostgreSQL data folder with everything needed to run a server on it. */
export interface Cluster extends ProgramContext {
  dataDirectory: string;
  logFile: string;
  settings: Settings;
  password: string;
}

type NewCluster = Omit<Cluster, 'password'>;

const passwordFileName = 'svc_password';

/** Creates the cluster if it does not exist. */
export async function openCluster(folder: string, settings: Settings): Promise<Cluster> {
  const dataDirectory = resolve(folder);
  await fs.mkdir(dirname(dataDirectory), { recursive: true, mode: 0o700 });
  const account = await serverAccount(dataDirectory);
  const nativeFolder = await usableNativeFolder(account);
  const cluster = {
    dataDirectory,
    logFile: `${dataDirectory}.log`,
    nativeFolder,
    account,
    settings: await clusterSettings(nativeFolder, settings),
  };
  await ensureInitialised(cluster);
  return { ...cluster, password: await readPassword(dataDirectory) };
}

async function ensureInitialised(cluster: NewCluster): Promise<void> {
  const buildPrefix = `${cluster.dataDirectory}.init-`;
  await removeAbandoned(buildPrefix);
  if (await isInitialised(cluster.dataDirectory)) return;
  await withBuildFolder(buildPrefix, async (folder) => {
    await initialise(cluster, folder);
    await publish(cluster, join(folder, 'data'));
  });
}

async function isInitialised(dataDirectory: string): Promise<boolean> {
  try {
    await fs.access(join(dataDirectory, 'PG_VERSION'));
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return false;
    throw new ConfigurationError(`Cannot read ${dataDirectory}. Was it created by another user, for example root?`, {
      cause,
    });
  }
}

async function initialise(cluster: NewCluster, folder: string): Promise<void> {
  const passwordFile = join(folder, 'password');
  await fs.writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  if (cluster.account) await giveAway([passwordFile, folder], cluster.account);
  await runInitdb(cluster, folder);
  const kept = join(folder, 'data', passwordFileName);
  await fs.rename(passwordFile, kept);
  await syncToDisk(cluster, kept, dirname(kept));
}

async function giveAway(paths: string[], account: Account): Promise<void> {
  try {
    for (const path of paths) await fs.chown(path, account.uid, account.gid);
  } catch (cause) {
    throw new ConfigurationError(
      `PostgreSQL does not run as root, and the owner of ${paths[0]} cannot be changed to user ${account.uid}. ` +
        'Run as an ordinary user, or set DATABASE_URL.',
      { cause },
    );
  }
}

async function runInitdb(cluster: NewCluster, folder: string): Promise<void> {
  const args = (reachable: string) => [
    `--pgdata=${join(reachable, 'data')}`,
    `--pwfile=${join(reachable, 'password')}`,
    `--username=${superuser}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(isDurable(cluster) ? [] : ['--no-sync']),
  ];
  const output: Buffer[] = [];
  try {
    const child = spawnOnFolder(cluster, 'initdb', { folder, args, output: 'pipe' });
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`initdb exited with code ${code}`);
  } catch (cause) {
    const said = Buffer.concat(output).toString().trim();
    throw new Error(`Could not create the database in ${cluster.dataDirectory}: ${said || String(cause)}`, { cause });
  }
}

async function publish(cluster: NewCluster, made: string): Promise<void> {
  const { dataDirectory } = cluster;
  try {
    await fs.rename(made, dataDirectory);
    await syncToDisk(cluster, dirname(dataDirectory));
  } catch (cause) {
    // A simultaneous first start has created the cluster, which is equally good.
    if (await isInitialised(dataDirectory)) return;
    throw new ConfigurationError(`${dataDirectory} exists but contains no PostgreSQL data. Move it to another place.`, {
      cause,
    });
  }
}

function isDurable({ settings }: NewCluster): boolean {
  return settings['fsync'] !== 'off';
}

async function syncToDisk(cluster: NewCluster, ...paths: string[]): Promise<void> {
  if (process.platform === 'win32' || !isDurable(cluster)) return;
  for (const path of paths) {
    const handle = await fs.open(path);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

async function readPassword(dataDirectory: string): Promise<string> {
  try {
    return (await fs.readFile(join(dataDirectory, passwordFileName), 'utf8')).trim();
  } catch (cause) {
    throw new ConfigurationError(
      `${dataDirectory} was not created by this service: it has no readable ${passwordFileName}.`,
      {
        cause,
      },
    );
  }
}
