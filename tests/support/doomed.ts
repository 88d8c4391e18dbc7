import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Failpoint } from '../../server/platform/failpoints.ts';
import { freePort } from './listen.ts';
import { programPath } from './programs.ts';
import type { TestService } from './service.ts';

/** The program itself, on the database of a service that survives it, with a failpoint armed. It dies there. */

const program = programPath('main');
/** Both processes make the same links. */
export const publicUrl = 'http://pay.localhost';
const masterSecret = '\x07'.repeat(32);

const children: ChildProcess[] = [];

export function endDoomed(): void {
  for (const child of children) child.kill('SIGKILL');
}

interface Doomed {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly baseUrl: Promise<string>;
}

export async function launch(survivor: TestService, failpoint: Failpoint, roles: string): Promise<Doomed> {
  const { database, config } = survivor;
  const port = await freePort();
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, [program], {
    env: {
      ...{ PATH, HOME, ...(TMPDIR && { TMPDIR }) },
      SVC_FAILPOINT: failpoint,
      SVC_ROLES: roles,
      HOST: '127.0.0.1',
      PORT: String(port),
      DATABASE_URL: database.connectionString,
      SVC_VAULT_DATABASE_URL: database.vaultUrl,
      SVC_DATA_DIR: config.dataDir,
      SVC_BASE_URL: publicUrl,
      SVC_MASTER_SECRET: masterSecret,
      SVC_RATE_LIMIT_GLOBAL: 'off',
      SVC_RATE_LIMIT_READ: 'off',
      SVC_RATE_LIMIT_WRITE: 'off',
      SVC_RATE_LIMIT_REFUSED_CARDS: 'off',
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let printed = '';
  const baseUrl = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk;
        if (/"body":"ready"/.test(printed)) resolve(`http://127.0.0.1:${port}`);
      });
    }
    child.once('exit', () => reject(new Error(`it ended before it listened:\n${printed}`)));
  });
  baseUrl.catch(() => undefined);
  return { child, exited: once(child, 'exit'), baseUrl };
}

/** The page asks the process that dies of it. */
export async function dieOf(survivor: TestService, failpoint: Failpoint, path: string, body: object): Promise<void> {
  const { child, exited, baseUrl } = await launch(survivor, failpoint, 'api,vault');
  const origin = await baseUrl;
  await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then(
    async (response) => assert.fail(`it lived and said ${response.status} ${await response.text()}`),
    () => undefined,
  );
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
}
